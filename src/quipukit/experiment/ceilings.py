"""The upper reference of a setting: what the original query finds among as many documents as the setting pooled.

`Identity` sends one text and pools the `depth` documents of one list; N variants pool up to N lists. A setting may
therefore find more than `Identity` does just because its pool is larger. Its fair reference is the original query,
searched as deep as the setting's pool is large, re-ranked and measured in the same way. The depth is never below that
of `Identity`: a query for which little or nothing was sent is a loss, not an excuse.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd


def depths_of(pool: pd.DataFrame, qids: Sequence[str], least: int) -> dict[str, int]:
    """Return how many documents were pooled for each query, and ``least`` where there were fewer.

    >>> depths_of(pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": ["a", "b", "c", "a"]}), ["1", "2", "3"], 2)
    {'1': 3, '2': 2, '3': 2}
    """
    counts = pool["qid"].value_counts().to_dict()
    return {qid: max(least, int(counts.get(qid, 0))) for qid in qids}


def first_documents(rankings: Mapping[str, Sequence[str]], depths: Mapping[str, int]) -> pd.DataFrame:
    """Return as a pool (qid and docno, sorted) the first documents of each ranking; all of one that has fewer.

    >>> first_documents({"1": ["b", "a", "c"], "2": ["d"]}, {"1": 2, "2": 5})["docno"].tolist()
    ['a', 'b', 'd']
    """
    rows = [(qid, sorted(rankings[qid][:depth])) for qid, depth in sorted(depths.items())]
    qids = np.repeat(np.array([qid for qid, _ in rows], object), [len(docnos) for _, docnos in rows])
    return pd.DataFrame({"qid": qids, "docno": np.array([docno for _, docnos in rows for docno in docnos], object)})
