"""The check of search systems lets right ones pass, and finds what is wrong with others."""

import numpy as np
import pytest

from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.dense import Dense
from quipukit.testing import check_retriever
from tests.encoders.fakes import HashEncoder
from tests.retrieval.test_pool import Pets

DOCUMENTS = {"d1": "cat and dog", "d2": "cat", "d3": "dog", "d4": "a cat and a cat"}


class Overlap(Retriever):
    """Counts the words that query and document share."""

    name = "overlap"

    def search(self, queries, depth, progress=None):
        rankings = [self.ranking(query, depth) for query in queries]
        if progress:
            progress(len(queries), len(queries))
        return rankings

    def ranking(self, query, depth):
        words = set(query.split())
        scores = {docno: float(len(words & set(text.split()))) for docno, text in DOCUMENTS.items()}
        best = sorted((docno for docno in scores if scores[docno]), key=lambda docno: (-scores[docno], docno))[:depth]
        return Ranking(best, np.array([scores[docno] for docno in best]))


class Nameless(Overlap):
    name = ""


class Ties(Overlap):
    def ranking(self, query, depth):
        found = super().ranking(query, depth)
        return Ranking(found.docnos[::-1], found.scores[::-1])


class Deeper(Overlap):
    def ranking(self, query, depth):
        return super().ranking(query, depth + 1)


class Twice(Overlap):
    def ranking(self, query, depth):
        found = super().ranking(query, depth)
        return Ranking([*found.docnos[:1], *found.docnos][:depth], np.append(found.scores[:1], found.scores)[:depth])


class Nan(Overlap):
    def ranking(self, query, depth):
        found = super().ranking(query, depth)
        return Ranking(found.docnos, found.scores * np.nan)


class Numbers(Overlap):
    def ranking(self, query, depth):
        found = super().ranking(query, depth)
        return Ranking(list(range(len(found.docnos))), found.scores)


class ByBatch(Overlap):
    def search(self, queries, depth, progress=None):
        rankings = super().search(queries, depth, progress)
        return [Ranking(found.docnos, found.scores + len(queries)) for found in rankings]


class Everything(Overlap):
    def ranking(self, query, depth):
        return super().ranking(query or "cat", depth)


class Shorter(Overlap):
    def search(self, queries, depth, progress=None):
        return super().search(queries, depth, progress)[:-1]


class Overdone(Overlap):
    def search(self, queries, depth, progress=None):
        progress(2, 1)
        return super().search(queries, depth)


class Window(Overlap):
    window = 1


@pytest.mark.parametrize("make", [Overlap, lambda: BM25.of(Pets()), lambda: Dense(Pets(), HashEncoder())])
def test_right_ones_pass(make):
    check_retriever(make(), ["cat", "cat dog"], depth=3)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Nameless, "must set a name"),
        (Ties, "ties by docno"),
        (Deeper, "documents where 2 were asked for"),
        (Twice, "comes twice"),
        (Nan, "not a finite number"),
        (Numbers, "not a string"),
        (ByBatch, "depends on the batch"),
        (Everything, "an empty query finds something"),
        (Shorter, "rankings for"),
        (Overdone, "more is done"),
        (Window, "its window"),
    ],
)
def test_wrong_ones_do_not(wrong, reason):
    with pytest.raises(AssertionError, match=reason):
        check_retriever(wrong(), ["cat", "cat dog"], depth=2)


def test_a_check_that_finds_nothing_proves_nothing():
    with pytest.raises(AssertionError, match="finds nothing"):
        check_retriever(Overlap(), ["horse"])
