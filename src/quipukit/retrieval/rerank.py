"""Re-rank pooled documents on the user's side, with the original query and a model of the user's own."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.collections.base import Collection
from quipukit.deprecation import warn_deprecated
from quipukit.errors import InputError
from quipukit.frames import POOL, QUERIES, RANKED, SETTING, with_setting
from quipukit.progress import Progress
from quipukit.retrieval.base import Scorer, scored
from quipukit.retrieval.load import load_scorer


def rerank(
    pool: pd.DataFrame,
    queries: pd.DataFrame,
    collection: Collection,
    reranker: str | Scorer = "minilm",
    progress: Progress | None = None,
    *,
    scorer: str | Scorer | None = None,
) -> pd.DataFrame:
    """Return a Run: the pool of every setting and query by falling score of the original query; ties by docno.

    This happens on the user's machine: nothing of the original query is sent. A document that several settings pooled
    for a query is scored once. ``reranker`` is a name (`load_scorer`) or a `Scorer`; ``scorer`` is its old name.
    """
    if scorer is not None:
        warn_deprecated("scorer= is deprecated; write reranker=.")
        reranker = scorer
    return reranked(pool, queries, load_scorer(reranker, collection), progress)


def reranked(
    pool: pd.DataFrame, queries: pd.DataFrame, scorer: Scorer, progress: Progress | None = None
) -> pd.DataFrame:
    """Return what `rerank` does, with a re-ranker that is bound to its collection."""
    pool = POOL.check(with_setting(pool))
    texts = dict(zip(*(QUERIES.check(queries)[column] for column in ("qid", "query")), strict=True))
    unknown = sorted(set(pool["qid"]) - set(texts))
    if unknown:
        raise InputError(
            f"{len(unknown)} pooled queries are not among the original ones (first: {', '.join(unknown[:3])}); "
            "give the queries that were obfuscated."
        )
    documents: dict[str, dict[str, None]] = {}
    for qid, docno in zip(pool["qid"].tolist(), pool["docno"].tolist(), strict=True):
        documents.setdefault(qid, {})[docno] = None
    batches = [(texts[qid], list(docnos)) for qid, docnos in documents.items()]
    scores = scored(scorer, batches, progress)
    by_pair = {
        qid: dict(zip(docnos, score.tolist(), strict=True))
        for (qid, docnos), score in zip(documents.items(), scores, strict=True)
    }
    pairs = zip(pool["qid"].tolist(), pool["docno"].tolist(), strict=True)
    return _ranked(pool, np.fromiter((by_pair[qid][docno] for qid, docno in pairs), float, len(pool)))


def fused_ranked(pool: pd.DataFrame) -> pd.DataFrame:
    """Return a Run without any re-ranker: every pool by the fused ranks of its lists (column ``fused``); ties by docno.

    >>> pool = pd.DataFrame({"qid": "1", "docno": ["a", "b"], "fused": [0.1, 0.2]})
    >>> fused_ranked(pool)["docno"].tolist()
    ['b', 'a']
    """
    return ranked_by(pool, pool["fused"].to_numpy(np.float64))


def ranked_by(pool: pd.DataFrame, scores: NDArray[np.float64]) -> pd.DataFrame:
    """Return a Run: every pool by falling scores, one for each row; ties by docno."""
    return _ranked(POOL.check(with_setting(pool)), scores)


def _ranked(pool: pd.DataFrame, score: NDArray[np.float64]) -> pd.DataFrame:
    # By setting and query, then by falling score; ties by docno.
    groups = [_sorted_codes(pool[column]) for column in (*SETTING, "qid")]
    order = np.lexsort((pd.factorize(pool["docno"], sort=True)[0], -score, *reversed(groups)))
    ranked = pool.iloc[order].assign(score=score[order], rank=_places([codes[order] for codes in groups]))
    return RANKED.typed(ranked)  # a pool, which has been checked, in another order


def _sorted_codes(column: "pd.Series[Any]") -> NDArray[np.int64]:
    """Return numbers that order as the cells do; those of categories, as categories are ordered."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy(np.int64)
    return pd.factorize(column, sort=True)[0].astype(np.int64, copy=False)


def _places(groups: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the place of each row in its group, from 0; rows of a group follow one another.

    >>> _places([np.array([0, 0, 0, 1]), np.array([3, 3, 4, 4])]).tolist()
    [0, 1, 0, 0]
    """
    here = np.arange(len(groups[0]))
    begins = np.ones(len(here), bool)
    begins[1:] = np.any([codes[1:] != codes[:-1] for codes in groups], axis=0)
    return here - np.maximum.accumulate(np.where(begins, here, 0))
