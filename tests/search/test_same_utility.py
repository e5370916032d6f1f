"""A search finds what `evaluate` measures at the same setting: exactly for covers, within an interval for noise."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.collections.wordnet_glosses import WordNetGlosses

TOPICS = 12
DEPTH = 10


@pytest.fixture(scope="module")
def collection() -> WordNetGlosses:
    return WordNetGlosses()


@pytest.fixture(scope="module")
def queries(collection: WordNetGlosses) -> pd.DataFrame:
    return collection.queries().iloc[:: len(collection.queries()) // TOPICS].head(TOPICS)


def evaluated(collection: WordNetGlosses, queries: pd.DataFrame, setting: str, n: int, seed: int) -> pd.DataFrame:
    """The steps of `evaluate`, by the public functions that it caches."""
    table = qk.obfuscate(queries, setting, n=n, seed=seed)
    ranked = qk.rerank(qk.pool(qk.retrieve(table, collection, "bm25", depth=DEPTH)), queries, collection, "static")
    return qk.utility(ranked, collection.qrels(), ["nDCG@10"], settings=table, queries=queries["qid"])


def searched(collection: WordNetGlosses, queries: pd.DataFrame, setting: str, n: int) -> pd.DataFrame:
    search = qk.PrivateSearch("wordnet", setting, n, depth=DEPTH, memo=False)
    rows = []
    for qid, query in zip(queries["qid"], queries["query"], strict=True):
        search.new_session()
        for rank, hit in enumerate(search.search(query).hits):
            rows.append((qid, hit.docno, hit.score, rank))
    run = pd.DataFrame(rows, columns=["qid", "docno", "score", "rank"])
    return qk.utility(run, collection.qrels(), ["nDCG@10"], queries=queries["qid"])


def by_query(scores: pd.DataFrame) -> "pd.Series[float]":
    return scores.set_index("qid")["score"].sort_index()


@pytest.mark.parametrize("setting", ["Cover@50", "StickyCover(members=100)@1000"])
def test_covers_find_exactly_the_same(collection: WordNetGlosses, queries: pd.DataFrame, setting: str) -> None:
    first = by_query(evaluated(collection, queries, setting, 1, 7))
    second = by_query(searched(collection, queries, setting, 1))
    pd.testing.assert_series_equal(first, second, check_names=False, rtol=0, atol=1e-12)
    assert first.mean() > 0.1  # and find something


@pytest.mark.statistical
def test_noise_finds_the_same_within_a_paired_interval(collection: WordNetGlosses, queries: pd.DataFrame) -> None:
    """Mean difference per query over six draws each, against its standard error; false alarms below 1e-5 (|t| > 8)."""
    draws = 6
    one = np.mean([by_query(evaluated(collection, queries, "CMP@15", 5, seed)) for seed in range(draws)], axis=0)
    other = np.mean([by_query(searched(collection, queries, "CMP@15", 5)) for _ in range(draws)], axis=0)
    assert abs(t_of(one - other)) < 8
    wrong = np.mean([by_query(evaluated(collection, queries, "Random", 5, seed)) for seed in range(draws)], axis=0)
    assert (one - wrong).mean() > 0.1  # a mechanism that finds nothing would be noticed


def t_of(differences: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean() / error) if error else 0.0
