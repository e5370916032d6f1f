"""Objects of one's own in the public functions, from obfuscated queries to utility."""

import numpy as np
import pytest

import quipukit as qk
from quipukit.encoders.base import Encoder
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from tests.retrieval.test_pool import Pets


class Letters(Encoder):
    name, dimension, fingerprint = "letters", 26, "own-letters-1"

    def pieces(self, texts, kind):
        counts = [[text.count(chr(97 + letter)) for letter in range(26)] for text in texts]
        yield np.arange(len(texts)), np.array(counts, np.float32)


class Fixed(Retriever):
    name = "fixed"

    def search(self, queries, depth, progress=None):
        return [Ranking(["d001", "d002"][:depth], np.array([2.0, 1.0])[:depth]) for _ in queries]


class Backwards(Scorer):
    name = "backwards"

    def score_many(self, batches, progress=None):
        return [np.array([float(docno[1:]) for docno in docnos]) for _, docnos in batches]


@pytest.fixture
def sent():
    return qk.obfuscate(Pets().queries(), qk.Identity(), n=2)


def test_a_retriever_and_a_reranker(sent):
    pets = Pets()
    run = qk.retrieve(sent, pets, retriever=Fixed(), depth=2)
    assert set(run["docno"]) == {"d001", "d002"}
    ranked = qk.rerank(qk.pool(run), pets.queries(), pets, reranker=Backwards())
    assert ranked["docno"].tolist() == ["d002", "d001"] * 3
    assert len(qk.utility(ranked, pets.qrels(), ["P@1"])) > 0


def test_an_encoder_attacks_and_compares(sent):
    pets = Pets()
    ranks = qk.attack(sent, pets.queries(), ["cat and dog", "nothing"], encoder=Letters(), attackers=["QuIA"])
    assert (ranks["log_rank"] == 1).all(), "the originals were sent as they are"
    similar = qk.similarity(sent, pets.queries(), encoder=Letters())
    assert similar["sentence_similarity"].tolist() == pytest.approx([1.0])


def test_a_dense_system_takes_an_encoder(sent):
    from quipukit.retrieval.dense import Dense, DenseScorer

    pets = Pets()
    run = qk.retrieve(sent, pets, retriever=Dense(pets, Letters()), depth=3)
    assert run.groupby("qid", observed=True)["docno"].nunique().tolist() == [3, 3, 3]
    ranked = qk.rerank(qk.pool(run), pets.queries(), pets, reranker=DenseScorer(pets, Letters()))
    assert set(ranked["docno"]) == set(run["docno"])
