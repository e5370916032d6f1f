"""Guessers: lists of documents, best first, searched on this machine alone."""

from collections.abc import Sequence

import numpy as np
import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.measures.guessers import Consensus, Guess, lists_of, own_lists
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.fusion import fuse
from tests.measures.topical import QUERIES, WORDS, Topical, sent

TOY = Topical()


class Far(Retriever):
    """A system over the network that must not be asked."""

    name, remote = "far", True

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        raise AssertionError("asked")


class Backwards(Scorer):
    """Turns BM25's order round."""

    name = "backwards"

    def score_many(self, batches, progress=None):  # type: ignore[no-untyped-def]
        return [-np.asarray(scores) for scores in BM25.of(TOY).score_many(batches)]


def test_consensus_is_the_fused_run() -> None:
    run = qk.retrieve(sent({"q1": WORDS[1][:4], "q2": [" ".join(WORDS[2][:2])]}), TOY, depth=5)
    lists = Consensus().lists(run)
    assert lists == lists_of(fuse(run)) and set(lists) == {("Own", "epsilon", 1.0, qid) for qid in ("q1", "q2")}
    for own in lists.values():
        assert [score for _, score in own] == sorted((score for _, score in own), reverse=True)
    # Of one variant it is the engine's own list.
    assert [docno for docno, _ in lists["Own", "epsilon", 1.0, "q2"]] == run[run["qid"] == "q2"]["docno"].tolist()


def test_a_guess_is_searched_and_re_ranked_with_itself() -> None:
    index, text = BM25.of(TOY), QUERIES["q3"]
    plain = Guess(index, index, 12).lists([text, text])
    assert list(plain) == [text]
    assert [docno for docno, _ in plain[text]] == index.search([text], 12)[0].docnos
    turned = Guess(index, Backwards(), 12).lists([text])[text]
    assert {docno for docno, _ in turned} == {docno for docno, _ in plain[text]}
    assert [score for _, score in turned] == sorted((-score for _, score in plain[text]), reverse=True)


def test_nothing_is_searched_over_the_network() -> None:
    for make in (lambda: Guess(Far(), Backwards(), 5), lambda: own_lists({"q1": "text"}, Far(), 5)):
        with pytest.raises(InputError, match="far is over the network, and a guess may be an original query"):
            make()


def test_own_lists_are_the_retrievers_order() -> None:
    index = BM25.of(TOY)
    lists = own_lists(QUERIES, index, 7)
    for (qid, text), ranking in zip(QUERIES.items(), index.search(list(QUERIES.values()), 7), strict=True):
        assert [docno for docno, _ in lists[qid]] == ranking.docnos, text
    assert lists["q0"] == []
