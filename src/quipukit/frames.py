"""Every table of quipukit: its columns, their types, its key, and the check that it is what it should be."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit import settings
from quipukit.errors import FrameError, QrelsWarning
from quipukit.registry import directions

Kind = Literal["text", "whole", "number"]
_DTYPES: Mapping[Kind, Any] = {"text": np.dtype(object), "number": np.dtype(np.float64), "whole": np.dtype(np.int64)}

# Rows of a table whose keys are told apart faster one by one than by pandas.
_FEW = 2_000


@dataclass(frozen=True)
class Table:
    """A kind of table: which columns it has, of which kind, and which of them tell its rows apart.

    ``optional`` columns are kept where they are present. They may have gaps, for tables with and without them can be
    put together: a missing text is "unknown", a missing number 0.
    """

    name: str
    columns: Mapping[str, Kind]
    key: tuple[str, ...]
    optional: Mapping[str, Kind] = field(default_factory=dict)

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with its columns in order and of the right types (a copy), or say what is wrong."""
        checked, cells = self._typed(frame)
        if len(checked) <= _FEW:
            keys = zip(*(cells[name].tolist() for name in self.key), strict=True)
            if len(set(keys)) == len(checked):
                return checked
        twice = checked.duplicated(list(self.key))
        if twice.any():
            # Only identifiers are shown: a key never contains the text of a query.
            first = ", ".join(f"{name}={checked.loc[twice, name].iloc[0]}" for name in self.key)
            raise FrameError(f"{self.name} has two rows with {first}; keep one of them.")
        return checked

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the same as `check`, but let rows have the same key."""
        return self._typed(frame)[0]

    def _typed(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, "pd.Series[Any]"]]:
        """Return the typed frame and its columns by name: to take one out of a frame costs more than to check it."""
        names = frame.columns.tolist()
        columns = {**self.columns, **{name: kind for name, kind in self.optional.items() if name in names}}
        times = Counter(names)
        for column in columns:
            if not times[column]:
                raise FrameError(f"{self.name} needs column {column!r} ({self._found(frame)}); rename or add it.")
            if times[column] > 1:
                raise FrameError(f"{self.name} has column {column!r} twice; keep one of them.")
        cells = {name: column for name, column in frame.items() if name in columns}
        if type(frame) is pd.DataFrame and self._are_clean(cells, columns):
            chosen = frame if names == list(columns) else frame[list(columns)]
            # Most were checked before: a copy costs a fifth of putting them together again.
            chosen = chosen.copy() if _is_counted(chosen.index) else chosen.reset_index(drop=True)
            chosen.attrs = {}
            if (chosen.columns.name, chosen.columns.dtype) != (None, "str"):
                chosen.columns = pd.Index(list(columns))
            return chosen, cells
        rows = pd.RangeIndex(len(frame))
        checked = {}
        for column, kind in columns.items():
            filled = _without_gaps(cells[column], kind) if column in self.optional else cells[column]
            checked[column] = _converted(self.name, filled, kind, rows)
        # Put together once: one column set after another costs more than all the checks.
        return pd.DataFrame(checked, index=rows, copy=False), checked

    def _are_clean(self, cells: "Mapping[str, pd.Series[Any]]", columns: Mapping[str, Kind]) -> bool:
        """Return whether columns are what `typed` returns."""
        return all(
            cells[name].dtype == _DTYPES[kind] and _is_clean(cells[name], "" if name in self.optional else None)
            for name, kind in columns.items()
        )

    def _found(self, frame: pd.DataFrame) -> str:
        """Name the columns that are there, unless none is known: a file without a header has a query for a name."""
        if not set(self.columns) & set(frame.columns):
            return "found none of its columns"
        return "found " + ", ".join(repr(str(name)) for name in frame.columns)

    def empty(self) -> pd.DataFrame:
        """Return a table without rows."""
        return self.check(pd.DataFrame({column: [] for column in self.columns}))


class WithGaps(Table):
    """A table whose numbers may be missing."""

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame as it should be; a missing number stays NaN."""
        numbers = (name for name, kind in self.columns.items() if kind == "number" and name in frame)
        gaps = {name: gap for name in numbers if (gap := frame[name].isna().to_numpy()).any()}
        if not gaps:
            return super().check(frame)
        checked = super().check(frame.assign(**{name: frame[name].fillna(0.0) for name in gaps}))
        return checked.assign(**{name: checked[name].mask(gap) for name, gap in gaps.items()})


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


def _without_gaps(column: "pd.Series[object]", kind: Kind) -> "pd.Series[object]":
    """Fill missing cells; in files of text they are empty texts."""
    gaps = column.isna() | (column == "")
    return column.astype(object).mask(gaps, "unknown" if kind == "text" else 0) if gaps.any() else column


def _is_counted(index: pd.Index) -> bool:
    """Return whether rows are numbered from 0, and the index has no name."""
    return type(index) is pd.RangeIndex and (index.start, index.step, index.name) == (0, 1, None)


def _is_clean(column: "pd.Series[Any]", gap: str | None) -> bool:
    """Return whether a column holds nothing but sound texts (and no ``gap``), or numbers."""
    if column.dtype != object:
        return not np.isnan(column.to_numpy()).any()
    cells = set(column.tolist())
    return set(map(type, cells)) <= {str} and gap not in cells and all(map(str.isascii, cells))


def _converted(table: str, column: "pd.Series[Any]", kind: Kind, rows: pd.Index) -> "pd.Series[Any]":
    if kind == "text":
        return _texts(table, column, rows)
    numbers = column.to_numpy()
    if numbers.dtype not in (np.int64, np.float64):
        numbers = pd.to_numeric(column, errors="coerce").to_numpy()
    bad = pd.isna(numbers)
    if bad.any():
        raise FrameError(f"{table}: column {column.name!r} must hold numbers (row {int(bad.argmax())} does not).")
    if kind == "number":
        return pd.Series(numbers, rows, np.float64, copy=True)
    if numbers.dtype != np.int64 and (not np.isfinite(numbers).all() or (numbers != numbers.round()).any()):
        raise FrameError(f"{table}: column {column.name!r} must hold whole numbers.")
    return pd.Series(numbers, rows, np.int64, copy=True)


def _texts(table: str, column: "pd.Series[Any]", rows: pd.Index) -> "pd.Series[Any]":
    if isinstance(column.dtype, pd.CategoricalDtype) and all(isinstance(c, str) for c in column.cat.categories):
        _refuse_gaps(table, column)
        return column.set_axis(rows)  # millions of rows of a run: one copy of each text, and numbers that point to it
    cells = column.tolist()
    if not set(map(type, cells)) <= {str}:
        _refuse_gaps(table, column)
        cells = _written_out(table, column, cells)
    # Tables of many rows repeat few texts: each is looked at once.
    if any(not text.isascii() and _is_broken(text) for text in set(cells)):
        row = next(row for row, text in enumerate(cells) if _is_broken(text))
        raise FrameError(f"{table}: column {column.name!r}, row {row}, holds bytes that are not UTF-8; convert them.")
    return pd.Series(cells, rows, object)


def _refuse_gaps(table: str, column: "pd.Series[Any]") -> None:
    if column.isna().any():
        raise FrameError(f"{table}: column {column.name!r} has empty cells; fill them or drop the rows.")


def _written_out(table: str, column: "pd.Series[object]", cells: list[object]) -> list[str]:
    for row, cell in enumerate(cells):
        if isinstance(cell, bytes | bytearray | memoryview):  # str() of it is its Python spelling, b'...'
            raise FrameError(f"{table}: column {column.name!r}, row {row}, holds bytes; decode them to a text.")
    return [cell if isinstance(cell, str) else str(cell) for cell in cells]


def _is_broken(text: str) -> bool:
    """Return whether a text holds lone surrogates: what Python makes of bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
