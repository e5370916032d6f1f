"""Retrieval of many variants, pools and re-ranking: the laws of the protocol."""

import numpy as np
import pandas as pd
import pytest

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.frames import POOL, RANKED, RUN
from quipukit.measures.utility import mean_scores, utility
from quipukit.obfuscation import obfuscate
from quipukit.retrieval import pool as pool_module
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.pool import default_depth, pool, pool_rankings, retrieve, search_distinct
from quipukit.retrieval.rerank import rerank
from quipukit.vectors.store import Vectors
from tests.executors.travelling import Travelling

WORDS = ["cat", "dog", "fish", "bird", "horse", "mouse", "cow", "hen"]


class Pets(Collection):
    """Three hundred documents of four words each, made by a seed."""

    name = "pets"
    fingerprint = "pets-1"

    def documents(self):
        rng = np.random.default_rng(5)
        for number in range(300):
            yield f"d{number:03}", " ".join(rng.choice(WORDS, 4))

    def __len__(self):
        return 300

    def queries(self):
        return pd.DataFrame({"qid": ["1", "2", "3"], "query": ["cat dog", "fish bird horse", "unheard"]})

    def qrels(self):
        rng = np.random.default_rng(6)
        rows = [(qid, f"d{n:03}", int(rng.integers(0, 3))) for qid in ("1", "2", "3") for n in range(0, 300, 7)]
        return pd.DataFrame(rows, columns=["qid", "docno", "relevance"])


class Counting(Retriever):
    """Passes everything on, and counts what it was asked."""

    name = "counting"

    def __init__(self, inner):
        self.inner, self.asked = inner, []

    def search(self, queries, depth, progress=None):
        self.asked += queries
        return self.inner.search(queries, depth, progress)


class Lengths(Scorer):
    """Scores by the number in the docno, in steps, so that ties abound."""

    name = "lengths"

    def score_many(self, batches, progress=None):
        return [np.array([int(docno[1:]) // 50 for docno in docnos], float) for _, docnos in batches]


@pytest.fixture(scope="module")
def pets():
    return Pets()


@pytest.fixture(scope="module")
def bm25(pets):
    return BM25.of(pets)


def identity(pets, n=1):
    return obfuscate(pets.queries(), "Identity", n)


def test_identity_equals_reranking_the_originals_own_list(pets, bm25):
    run = retrieve(identity(pets), pets, bm25, depth=20)
    ranked = rerank(pool(run), pets.queries(), pets, Lengths())
    for qid, query in pets.queries().itertuples(index=False):
        [own] = bm25.search([query], 20)
        expected = sorted(own.docnos, key=lambda docno: (-(int(docno[1:]) // 50), docno))
        assert ranked[ranked["qid"] == qid]["docno"].tolist() == expected


def test_set_recall_of_identity_is_the_plain_runs_recall(pets, bm25):
    run = retrieve(identity(pets), pets, bm25, depth=20)
    ranked = rerank(pool(run), pets.queries(), pets, Lengths())
    plain = utility(run.drop(columns="variant"), pets.qrels(), ["SetR", "R@20"])
    pooled = utility(ranked, pets.qrels(), ["SetR", "R@20"])
    assert mean_scores(pooled)[["SetR", "R@20"]].to_numpy() == pytest.approx(
        mean_scores(plain)[["SetR", "R@20"]].to_numpy(), abs=1e-12
    )
    assert mean_scores(plain)["SetR"].iloc[0] > 0


def test_fifty_identical_variants_give_the_same_as_one(pets, bm25):
    one = rerank(pool(retrieve(identity(pets, 1), pets, bm25, 20)), pets.queries(), pets, Lengths())
    fifty = rerank(pool(retrieve(identity(pets, 50), pets, bm25, 20)), pets.queries(), pets, Lengths())
    pd.testing.assert_frame_equal(one, fifty)


def test_identical_queries_are_asked_once(pets, bm25):
    counting = Counting(bm25)
    retrieve(identity(pets, 50), pets, counting, 10)
    assert sorted(counting.asked) == sorted(pets.queries()["query"])


def test_pooling_rankings_is_pooling_the_run(pets, bm25):
    vectors = Vectors(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), 3)))
    table = obfuscate(pets.queries(), ["CMP@2", "CMP@8", "Random"], 7, vectors=vectors, seed=3)
    run = retrieve(table, pets, bm25, 15)
    rankings = search_distinct(table["query"].tolist(), bm25, 15)
    pd.testing.assert_frame_equal(pool(run), pool_rankings(table, rankings))
    assert list(RUN.columns) == list(run.columns)
    assert run.groupby(["mechanism", "value", "qid", "variant"], observed=True)["rank"].max().lt(15).all()


def test_a_pool_holds_each_document_once_and_leaves_the_run_alone(pets, bm25):
    run = retrieve(identity(pets, 3), pets, bm25, 10)
    before = run.copy()
    pooled = pool(run)
    pd.testing.assert_frame_equal(run, before)
    assert not pooled.duplicated(["qid", "docno"]).any()
    assert list(pooled.columns) == list(POOL.columns)


def test_ties_go_by_docno(pets):
    frame = pd.DataFrame({"qid": "1", "docno": ["d030", "d010", "d060", "d020"]})
    ranked = rerank(pool(frame), pets.queries(), pets, Lengths())
    assert ranked["docno"].tolist() == ["d060", "d010", "d020", "d030"]
    assert ranked["rank"].tolist() == [0, 1, 2, 3]
    assert list(ranked.columns) == list(RANKED.columns)


def test_a_pool_of_unknown_queries_is_refused_without_quoting_them(pets):
    frame = pd.DataFrame({"qid": ["9", "8"], "docno": "d001"})
    with pytest.raises(InputError, match=r"2 pooled queries .* 8, 9"):
        rerank(pool(frame), pets.queries(), pets, Lengths())


def test_an_empty_table_goes_through(pets, bm25):
    table = identity(pets).iloc[:0]
    run = retrieve(table, pets, bm25)
    assert run.empty and pool(run).empty
    assert rerank(pool(run), pets.queries(), pets, bm25).empty


def test_the_default_depth_follows_the_collection():
    assert default_depth(11_429, 50) == 10
    assert default_depth(117_659, 10) == 100
    assert default_depth(200_000, 50) == 40


def test_random_is_the_lower_reference(pets, bm25):
    vectors = Vectors(WORDS, np.random.default_rng(1).normal(size=(len(WORDS), 3)))
    qrels = pd.DataFrame(
        [
            (qid, docno, 1)
            for qid, query in pets.queries().itertuples(index=False)
            for docno in bm25.search([query], 5)[0].docnos
        ],
        columns=["qid", "docno", "relevance"],
    )
    table = obfuscate(pets.queries(), ["Identity", "Random"], 2, vectors=vectors, seed=1)
    means = mean_scores(utility(rerank(pool(retrieve(table, pets, bm25, 5)), pets.queries(), pets, bm25), qrels))
    by_name = means.set_index("mechanism")["SetR"]
    assert by_name["Identity"] == 1.0
    assert by_name["Random"] < by_name["Identity"]


def test_rankings_compare_as_values():
    assert Ranking(["a"], np.ones(1)).docnos == ["a"]


@pytest.mark.heavy
def test_a_portable_system_searches_in_other_processes(pets, monkeypatch):
    monkeypatch.setattr(pool_module, "_LEAST_TEXTS", 2)
    texts = [f"{one} {other}" for one in WORDS for other in WORDS[:4]] + ["cat dog", "unheard"]
    system = BM25.of(pets)
    told = []
    here = search_distinct(texts, system, 5)
    with Travelling() as executor:
        elsewhere = search_distinct(texts, system, 5, lambda done, total: told.append((done, total)), executor)
        assert executor.items == 6
    assert list(here) == list(elsewhere) == list(dict.fromkeys(texts))
    for text, ranking in here.items():
        assert elsewhere[text].docnos == ranking.docnos
        assert elsewhere[text].scores.tolist() == ranking.scores.tolist()
    assert told[-1] == (33, 33)


def test_other_systems_are_asked_from_this_process(pets):
    system = Counting(BM25.of(pets))
    with Travelling() as executor:
        search_distinct(["cat", "dog"], system, 5, executor=executor)
        assert (system.asked, executor.items) == (["cat", "dog"], 0)
        system.portable = system.remote = True  # what leaves over the network leaves from here
        search_distinct(["hen"], system, 5, executor=executor)
        assert (system.asked, executor.items) == (["cat", "dog", "hen"], 0)
