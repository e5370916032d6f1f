"""Re-rank pooled documents on the user's side, with the original query and a model of the user's own."""

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.frames import POOL, QUERIES, RANKED, SETTING, with_setting
from quipukit.retrieval.base import Progress, Scorer
from quipukit.retrieval.load import load_scorer


def rerank(
    pool: pd.DataFrame,
    queries: pd.DataFrame,
    collection: Collection,
    scorer: str | Scorer = "minilm",
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return a Run: the pool of every setting and query by falling score of the original query; ties by docno.

    This happens on the user's machine: nothing of the original query is sent. A document that several settings pooled
    for a query is scored once.
    """
    pool = POOL.check(with_setting(pool))
    texts = dict(zip(*(QUERIES.check(queries)[column] for column in ("qid", "query")), strict=True))
    unknown = sorted(set(pool["qid"]) - set(texts))
    if unknown:
        raise InputError(
            f"{len(unknown)} pooled queries are not among the original ones (first: {', '.join(unknown[:3])}); "
            "give the queries that were obfuscated."
        )
    pairs = pool[["qid", "docno"]].drop_duplicates()
    batches = [(texts[qid], group["docno"].tolist()) for qid, group in pairs.groupby("qid", sort=False)]
    scores = load_scorer(scorer, collection).score_many(batches, progress)
    pairs = pd.concat([group for _, group in pairs.groupby("qid", sort=False)]) if batches else pairs
    pairs = pairs.assign(score=np.concatenate(scores) if scores else np.empty(0))
    ranked = pool.merge(pairs, on=["qid", "docno"], how="left", validate="many_to_one")
    keys = [*SETTING, "qid"]
    ranked = ranked.sort_values([*keys, "score", "docno"], ascending=[*[True] * len(keys), False, True], kind="stable")
    ranked["rank"] = ranked.groupby(keys, sort=False).cumcount()
    return RANKED.check(ranked)
