"""Checks of the frames that PyTerrier hands over: what is wrong is said by column, never by content."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import FrameError, InputError
from quipukit.frames import QUERIES
from quipukit.mechanisms.base import Mechanism, check_count
from quipukit.memo import Memo
from quipukit.obfuscation import mechanism as bind
from quipukit.retrieval.consent import are_originals
from quipukit.specs import Spec

RESULTS = ("docno", "score", "rank")
_EARLIER = "query_"  # query_0, query_1 ...: what rewriters kept


def is_query_column(name: object) -> bool:
    """Return whether a column may hold a query, or what was made of one: a vector, weighted terms.

    >>> [is_query_column(name) for name in ("query", "query_0", "query_vec", "docno")]
    [True, True, True, False]
    """
    return str(name) == "query" or str(name).startswith(_EARLIER)


def query_frame(frame: pd.DataFrame, who: str) -> pd.DataFrame:
    """Return the Queries table (qid, query) of a frame of queries, or say what is wrong with it."""
    columns = list(map(str, frame.columns))
    missing = [name for name in ("qid", "query") if name not in columns]
    if missing:
        raise FrameError(
            f"{who} needs column {missing[0]!r} (found {', '.join(columns) or 'none'}); give a frame of queries, as "
            "pt.new.queries makes one."
        )
    if "docno" in columns:
        raise FrameError(f"{who} takes queries, not results (found column 'docno'); put it before retrieval.")
    refuse_rewritten(columns, who)
    if len(frame) and not all(isinstance(qid, str) for qid in frame["qid"]):
        raise FrameError(
            f"{who}: 'qid' holds numbers or missing values (dtype {frame['qid'].dtype}), which match no judgments; "
            "PyTerrier's ids are texts: frame['qid'] = frame['qid'].astype(str)."
        )
    return QUERIES.check(frame[["qid", "query"]].reset_index(drop=True))


def refused(columns: Iterable[str]) -> list[str]:
    """Return which columns a frame of queries must not have: those of results, and what rewriters kept.

    >>> refused(["qid", "query", "query_1", "query_vec"])
    ['docno', 'query_0', 'query_1']
    """
    return ["docno", *sorted({"query_0", *_earlier(columns)})]


def _earlier(columns: Iterable[str]) -> list[str]:
    return [name for name in columns if name.startswith(_EARLIER) and name[len(_EARLIER) :].isdigit()]


def refuse_rewritten(columns: Iterable[str], who: str) -> None:
    """Refuse a frame that a rewriter made: it is not clear what its original is, and a column holds one."""
    earlier = _earlier(columns)
    if earlier:
        raise FrameError(
            f"{who}: the frame has column {earlier[0]!r}, so a rewriter ran before, and that column holds what was "
            "asked; put the rewriter inside, in front of the retriever, or drop the column if 'query' is the original."
        )


def result_frame(frame: pd.DataFrame, who: str) -> pd.DataFrame:
    """Return a frame of results that names queries and documents, or say what is missing."""
    missing = [name for name in ("qid", "docno") if name not in frame.columns]
    if missing:
        found = ", ".join(map(str, frame.columns)) or "none"
        raise FrameError(f"{who} needs results with column {missing[0]!r} (found {found}); it goes after a retriever.")
    return frame


def list_ranks(found: pd.DataFrame, who: str) -> "NDArray[np.int64]":
    """Return the rank from 0 of every row in the list of its query: by rank, or else by falling score."""
    by = "rank" if "rank" in found.columns else "score"
    if by not in found.columns:
        raise FrameError(f"{who} needs column 'rank' or 'score'; it goes right after a retriever.")
    numbers = pd.to_numeric(found[by], errors="coerce")
    if numbers.isna().any():  # which have no place in a list
        raise FrameError(f"{who}: column {by!r} of the results holds cells that are no numbers; fix or drop the rows.")
    order = numbers.groupby(found["qid"]).rank(method="first", ascending=by == "rank")
    return (order - 1).to_numpy(np.int64)


def source(mechanism: "str | Spec | Mechanism | Memo", n: int | None, send_originals: bool) -> tuple[Mechanism, int]:
    """Return the bound mechanism and the number of variants; refuse one that sends originals without consent."""
    if not isinstance(send_originals, bool):
        raise InputError(f"send_originals must be True or False (found {type(send_originals).__name__}).")
    if isinstance(mechanism, Memo):
        if n is not None and n != mechanism.n:
            raise InputError(f"n is {n}, and the memo holds {mechanism.n} variants of each query; leave n out.")
        bound, count = mechanism.mechanism, mechanism.n
    else:
        bound, count = bind(mechanism), check_count(20 if n is None else n)
    if bound.sends_original and not send_originals:
        raise InputError(
            f"{bound.spec!r} sends the original among what is sent, by design; pass send_originals=True if that is "
            "wanted.",
            argument="send_originals",
        )
    return bound, count


def refuse_originals(variants: pd.DataFrame, queries: pd.DataFrame, mechanism: Mechanism) -> None:
    """Refuse to send variants that turned out to be originals."""
    count = int(are_originals(variants["query"], queries["query"]).sum())
    if count:
        raise InputError(
            f"{count:,} of {len(variants):,} variants of {mechanism.spec!r} are original queries, so nothing was sent; "
            "choose a setting that hides more, or, where the index is your own, pass send_originals=True.",
            argument="send_originals",
        )
