"""Every table of quipukit, and what all of them need: noise, settings and their order, queries in any form."""

import warnings
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit import settings
from quipukit.errors import FrameError, QrelsWarning
from quipukit.registry import directions
from quipukit.table import Kind, Table, WithGaps


def noise_of(obfuscated: pd.DataFrame) -> str:
    """Return how the noise of obfuscated queries was drawn: independent, common, or unknown.

    Every row says it in the column ``noise``; without one it is unknown, which counts as common wherever guarantees
    add up. What is common in part is common.
    """
    said = set(map(str, obfuscated.loc[:, obfuscated.columns == "noise"].to_numpy().ravel()))
    return "common" if "common" in said else "independent" if said == {"independent"} else "unknown"


SETTING = settings.SETTING
_SETTING: dict[str, Kind] = {"mechanism": "text", "parameter": "text", "value": "number"}

QUERIES = Table("Queries", {"qid": "text", "query": "text"}, ("qid",))
# Optional: how many variants were asked for, and how their noise was drawn. Both are columns so that they stay with the
# rows: what is copied, filtered or put together with other rows is still known to have common noise.
OBFUSCATED = Table(
    "Obfuscated",
    {"qid": "text", "variant": "whole", "query": "text", **_SETTING},
    (*SETTING, "qid", "variant"),
    optional={"n": "whole", "noise": "text"},
)
QRELS = Table("Qrels", {"qid": "text", "docno": "text", "relevance": "whole"}, ("qid", "docno"))
RUN = Table(
    "Run",
    {**_SETTING, "qid": "text", "variant": "whole", "docno": "text", "score": "number", "rank": "whole"},
    (*SETTING, "qid", "variant", "docno"),
)
POOL = Table("Pool", {**_SETTING, "qid": "text", "docno": "text"}, (*SETTING, "qid", "docno"))
RANKED = Table(
    "Run",
    {**_SETTING, "qid": "text", "docno": "text", "score": "number", "rank": "whole"},
    (*SETTING, "qid", "docno"),
)
SCORES = Table(
    "Scores",
    {**_SETTING, "attacker": "text", "qid": "text", "side": "text", "measure": "text", "score": "number"},
    (*SETTING, "attacker", "qid", "side", "measure"),
)
# `better` other entries of the log came before the original, `tied` others stand level with it, and `log_rank` is its
# expected rank from 1. A query that could not be found (not in the log, or nothing was sent) has better = -1, tied = 0
# and log_rank = inf.
RANKS = Table(
    "Ranks",
    {**_SETTING, "attacker": "text", "qid": "text", "log_rank": "number", "better": "whole", "tied": "whole"},
    (*SETTING, "attacker", "qid"),
)
# Ranks of the last query of a session (``sid``), of which the attacker saw ``length`` queries, or all where it has
# fewer: the last one and those just before it.
SESSION_RANKS = Table(
    "SessionRanks",
    {**{("sid" if name == "qid" else name): kind for name, kind in RANKS.columns.items()}, "length": "whole"},
    (*SETTING, "attacker", "sid", "length"),
)
POINTS = Table(
    "Points",
    {
        "collection": "text",
        "mechanism": "text",
        "strategy": "text",
        "parameter": "text",
        "value": "number",
        "hides_more": "text",
        "attacker": "text",
        "persona": "text",
        "measure": "text",
        "risk": "number",
        "utility": "number",
    },
    ("collection", *SETTING, "attacker", "persona", "measure"),
)
# What a guesser finds of the need behind a query (`measures.need`). The attacker is empty where the guesser needs none;
# leakage is missing where the original itself finds nothing, similarity where there is no guess.
NEED = WithGaps(
    "Need",
    {
        **_SETTING,
        "guesser": "text",
        "attacker": "text",
        "qid": "text",
        "leakage": "number",
        "score": "number",
        "reference": "number",
        "similarity": "number",
    },
    (*SETTING, "guesser", "attacker", "qid"),
)
# Which queries one user asked in a row: by rising position, the last one last.
SESSIONS = Table("Sessions", {"sid": "text", "position": "whole", "qid": "text"}, ("sid", "position"))
NOTES = Table("Notes", {**_SETTING, "qid": "text", "flag": "text", "count": "whole"}, (*SETTING, "qid", "flag"))


def qrels_frame(judgments: pd.DataFrame, source: str = "the judgments") -> pd.DataFrame:
    """Return a Qrels table; of a query and a document that are judged several times the highest judgment counts."""
    typed = QRELS.typed(judgments)
    key = list(QRELS.key)
    repeated = typed.duplicated(key)
    if not repeated.any():
        return typed
    pairs = len(typed.loc[repeated, key].drop_duplicates())
    warnings.warn(
        f"{source}: pairs of query and document judged more than once: {pairs:,}; the highest judgment counts.",
        QrelsWarning,
        stacklevel=2,
    )
    return typed.groupby(key, sort=False, as_index=False)["relevance"].max()


def sessions_frame(sessions: pd.DataFrame, queries: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return a Sessions table in the order of its positions; with ``queries``, one whose queries are all known.

    >>> sessions_frame(pd.DataFrame({"sid": ["s", "s"], "position": [2, 1], "qid": ["b", "a"]}))["qid"].tolist()
    ['a', 'b']
    """
    checked = SESSIONS.check(sessions)
    if checked.empty:
        raise FrameError("Sessions holds no session; give rows of sid, position and qid.")
    for column, what in (("sid", "session"), ("qid", "query")):
        empty = checked[column].str.strip().eq("")
        if empty.any():
            raise FrameError(
                f"Sessions: row {int(empty.to_numpy().argmax()) + 1} names no {what} ({column!r} is empty); a session "
                "without queries is left out, not written down."
            )
    if queries is not None:
        named = list(dict.fromkeys(checked["qid"]))
        known = set(QUERIES.check(queries)["qid"])
        unknown = [qid for qid in named if qid not in known]
        if unknown:
            raise FrameError(
                f"Sessions: {len(unknown)} of {len(named)} queries are unknown (first: {', '.join(unknown[:3])}); give "
                "the queries of all sessions, with the ids that the sessions name."
            )
    order = checked.groupby("sid", sort=False).ngroup().to_numpy()
    return checked.iloc[np.lexsort((checked["position"].to_numpy(), order))].reset_index(drop=True)


def with_setting(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the columns that name a setting to a user's bare frame (qid, docno, score ...), where they are absent."""
    defaults: dict[str, object] = {"mechanism": "run", "parameter": "", "value": 0.0}
    return frame.assign(**{column: value for column, value in defaults.items() if column not in frame.columns})


def by_parameter(frame: pd.DataFrame, hides_more: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Order a table of settings from most to least hidden within each mechanism.

    Mechanisms stay in the order they come in. ``hides_more`` says which of their values hide more (see `directions`).
    """
    directed = directions(frame["mechanism"], hides_more)
    place = {name: number for number, name in enumerate(directed)}
    keys = pd.DataFrame(
        {
            "place": frame["mechanism"].map(place).to_numpy(),
            "value": from_most_hidden(frame["value"], frame["mechanism"].map(directed)),
        }
    )
    return frame.iloc[keys.sort_values(["place", "value"], kind="stable").index].reset_index(drop=True)


def from_most_hidden(values: ArrayLike, hides_more: ArrayLike) -> NDArray[np.float64]:
    """Return numbers by which settings stand from most to least hidden when they are sorted.

    >>> from_most_hidden([3, 4, 5], "larger").tolist()
    [-3.0, -4.0, -5.0]
    """
    numbers = np.asarray(values, np.float64)
    return np.where(np.asarray(hides_more, object) == "larger", -numbers, numbers)


Queries: TypeAlias = "pd.DataFrame | pd.Series[str] | Mapping[str, str] | Iterable[tuple[str, str]] | Iterable[str]"


def queries_frame(queries: Queries) -> pd.DataFrame:
    """Return a Queries table from a frame, from texts by id (a Series or a mapping), from (qid, query) pairs, or texts.

    Texts alone are numbered from 1. A query is a string: anything else is refused, for its name would be obfuscated.

    >>> queries_frame(["how tumour grows"]).to_dict("records")
    [{'qid': '1', 'query': 'how tumour grows'}]
    >>> queries_frame([("q7", "how tumour grows")]).to_dict("records")
    [{'qid': 'q7', 'query': 'how tumour grows'}]
    """
    if isinstance(queries, pd.DataFrame):
        frame = queries
        texts = list(frame["query"]) if list(frame.columns).count("query") == 1 else []
    else:
        pairs = _pairs(queries)
        if not all(pd.api.types.is_scalar(qid) for qid, _ in pairs):
            raise FrameError("Queries: an id is not a single value; give each query a string or a number as its id.")
        frame = pd.DataFrame(pairs, columns=["qid", "query"], dtype=object)
        texts = [text for _, text in pairs]
    for row, text in enumerate(texts):
        # A missing one is left to the table's own check, which says so.
        if not isinstance(text, str) and not (pd.api.types.is_scalar(text) and pd.isna(text)):
            raise FrameError(
                f"Queries: row {row} holds a query that is not a text ({type(text).__name__}); give strings, or "
                "(qid, query) pairs of strings."
            )
    return QUERIES.check(frame)


def _pairs(queries: object) -> list[tuple[object, object]]:
    """Return (qid, query) for anything but a frame; what the query is, is checked later."""
    if isinstance(queries, str):
        return [("1", queries)]
    if isinstance(queries, pd.Series | Mapping):
        return list(queries.items())
    if not isinstance(queries, Iterable) or isinstance(queries, bytes):
        raise FrameError(
            f"Queries: found {type(queries).__name__}; give a table (qid, query), texts by id, pairs or texts."
        )
    given = list(queries)
    if given and all(isinstance(one, tuple | list) and len(one) == 2 for one in given):
        return [(qid, query) for qid, query in given]
    return [(str(number), query) for number, query in enumerate(given, 1)]
