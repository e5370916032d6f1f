"""Reciprocal-rank fusion: one list from the lists of several queries, by the ranks alone.

    score(d) = sum over the lists that hold d of 1 / (k + rank of d in it, from 1)

Reference: Cormack, Clarke, Büttcher. Reciprocal rank fusion outperforms Condorcet and individual rank learning methods.
SIGIR 2009.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import POOL, RANKED, SETTING, with_setting
from quipukit.retrieval.base import Ranking

K = 60
NO_RERANKER = "none"  # in the place of a re-ranker: documents stay in the order of their fused ranks

Key = tuple[Any, ...]  # a setting and a qid
Ranks = dict[str, list[int]]  # at which ranks, from 0, the lists hold each document


def fuse(run: pd.DataFrame, k: int = K) -> pd.DataFrame:
    """Return a Run with one list for every setting and query: the lists of its variants, fused; ties by docno.

    ``run`` is what `quipukit.retrieve` returns.

    >>> run = pd.DataFrame({"qid": "1", "variant": [0, 0, 1], "docno": ["a", "b", "b"], "rank": [0, 1, 0]})
    >>> fuse(run)[["docno", "score"]].round(4).to_dict("records")
    [{'docno': 'b', 'score': 0.0325}, {'docno': 'a', 'score': 0.0164}]
    """
    if k < 0:
        raise InputError(f"k must be 0 or more (found {k}).", argument="k")
    frame = with_setting(run)
    missing = [column for column in ("qid", "variant", "docno", "rank") if column not in frame.columns]
    if missing:
        raise InputError(
            f"fusion needs the rank of every document in the list of every variant: column {missing[0]!r} is missing; "
            "give what quipukit.retrieve returns, not a pool."
        )
    groups: dict[Key, Ranks] = {}
    columns = (frame[column].tolist() for column in (*SETTING, "qid", "docno", "rank"))
    for mechanism, parameter, value, qid, docno, rank in zip(*columns, strict=True):
        groups.setdefault((mechanism, parameter, value, qid), {}).setdefault(docno, []).append(rank)
    lists = {key: sorted(_fused(ranks, k).items(), key=lambda one: (-one[1], one[0])) for key, ranks in groups.items()}
    ranked = _table(lists, "score")
    ranked["rank"] = np.concatenate([np.arange(len(lists[key])) for key in sorted(lists)] or [np.empty(0, np.int64)])
    return RANKED.typed(ranked)  # no document twice, by construction


def fused_pool(obfuscated: pd.DataFrame, rankings: Mapping[str, Ranking], k: int = K) -> pd.DataFrame:
    """Return the Pool of answers, straight from the rankings, with the fused score of each document as ``fused``.

    Without that column it is what ``pool(retrieve(...))`` gives, without the long table between.
    """
    groups: dict[Key, Ranks] = {}
    columns = (obfuscated[column].tolist() for column in (*SETTING, "qid", "query"))
    for mechanism, parameter, value, qid, query in zip(*columns, strict=True):
        ranks = groups.setdefault((mechanism, parameter, value, qid), {})
        for rank, docno in enumerate(rankings[query].docnos):
            ranks.setdefault(docno, []).append(rank)
    pools = _table({key: sorted(_fused(ranks, k).items()) for key, ranks in groups.items()}, "fused")
    return POOL.typed(pools).assign(fused=pools["fused"])  # no document twice, by construction


def fused_scores(lists: Iterable[Sequence[str]], k: int = K) -> dict[str, float]:
    """Return the fused score of every document of some lists, each the best first.

    >>> {docno: round(score, 4) for docno, score in fused_scores([["a", "b"], ["b"]]).items()}
    {'a': 0.0164, 'b': 0.0325}
    """
    ranks: Ranks = {}
    for docnos in lists:
        for rank, docno in enumerate(docnos):
            ranks.setdefault(docno, []).append(rank)
    return _fused(ranks, k)


def reciprocal_ranks(count: int, k: int = K) -> NDArray[np.float64]:
    """Return the fused scores of the documents of one single list, the best first.

    >>> reciprocal_ranks(2).round(4).tolist()
    [0.0164, 0.0161]
    """
    return 1 / (k + 1 + np.arange(count, dtype=np.float64))


def _fused(ranks: Ranks, k: int) -> dict[str, float]:
    # An exact sum: documents at the same ranks of other lists stand level, in whatever order the lists come.
    return {docno: math.fsum([1 / (k + 1 + rank) for rank in own]) for docno, own in ranks.items()}


def _table(lists: Mapping[Key, list[tuple[str, float]]], score: str) -> pd.DataFrame:
    keys = sorted(lists)
    sizes = [len(lists[key]) for key in keys]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([key[place] for key in keys], float if name == "value" else object), sizes)
        for place, name in enumerate((*SETTING, "qid"))
    }
    columns["docno"] = np.array([docno for key in keys for docno, _ in lists[key]], object)
    columns[score] = np.array([number for key in keys for _, number in lists[key]], float)
    return pd.DataFrame(columns)
