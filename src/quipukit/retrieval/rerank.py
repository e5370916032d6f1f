"""Re-rank pooled documents on the user's side, with the original query and a model of the user's own."""

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection
from quipukit.deprecation import warn_deprecated
from quipukit.errors import InputError
from quipukit.frames import POOL, QUERIES, RANKED, SETTING, with_setting
from quipukit.progress import Progress
from quipukit.retrieval.base import Scorer
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
    pool = POOL.check(with_setting(pool))
    texts = dict(zip(*(QUERIES.check(queries)[column] for column in ("qid", "query")), strict=True))
    unknown = sorted(set(pool["qid"]) - set(texts))
    if unknown:
        raise InputError(
            f"{len(unknown)} pooled queries are not among the original ones (first: {', '.join(unknown[:3])}); "
            "give the queries that were obfuscated."
        )
    documents: dict[str, dict[str, None]] = {}
    for qid, docnos in pool.groupby("qid", sort=False)["docno"]:
        documents[str(qid)] = dict.fromkeys(docnos)
    batches = [(texts[qid], list(docnos)) for qid, docnos in documents.items()]
    scores = load_scorer(reranker, collection).score_many(batches, progress)
    by_pair = {
        qid: dict(zip(docnos, score.tolist(), strict=True))
        for (qid, docnos), score in zip(documents.items(), scores, strict=True)
    }
    keys = [*SETTING, "qid"]
    ranked = pool.assign(
        score=np.fromiter(
            (by_pair[qid][docno] for qid, docno in zip(pool["qid"], pool["docno"], strict=True)), float, len(pool)
        )
    )
    # By group, then by falling score; ties by docno.
    group = ranked.groupby(keys, sort=True).ngroup().to_numpy()
    order = np.lexsort((pd.factorize(ranked["docno"], sort=True)[0], -ranked["score"].to_numpy(), group))
    ranked = ranked.iloc[order]
    ranked["rank"] = ranked.groupby(keys, sort=False).cumcount()
    return RANKED.typed(ranked)  # a pool, which has been checked, in another order
