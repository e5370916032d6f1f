"""Search under a sticky cover: local answers send nothing, and are ranked for the query that was asked."""

import numpy as np
import pytest

from quipukit.covers.sticky import StickyClient
from quipukit.errors import InputError
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.retrieval.sticky import StickySearch
from tests.covers.pools import partition

K = 20


class Echo(Retriever):
    """Finds a document of the same name for every text, and writes down what it was sent."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def search(self, queries, depth, progress=None):  # type: ignore[no-untyped-def]
        self.asked += queries
        return [Ranking([f"doc {text}"], np.ones(1)) for text in queries]


class SameText(Scorer):
    """Puts the document of the query's own name first."""

    name = "same"

    def score_many(self, batches, progress=None):  # type: ignore[no-untyped-def]
        return [np.array([float(docno == f"doc {query}") for docno in docnos]) for query, docnos in batches]


def test_a_follow_up_under_a_released_node_sends_nothing_and_finds_its_own() -> None:
    engine = Echo()
    search = StickySearch(StickyClient(partition(), K), engine, SameText())
    one, two = partition().members(0, K)[3:5]
    first = search.ask(one)
    sent = len(engine.asked)
    follow_up = search.ask(two)
    assert first is not None and follow_up is not None
    assert sorted(engine.asked) == sorted(partition().members(0, K)) and len(engine.asked) == sent
    assert first.docnos[0] == f"doc {one}" and follow_up.docnos[0] == f"doc {two}"
    other = partition().members(1, K)[0]
    assert search.ask(other).docnos[0] == f"doc {other}"  # type: ignore[union-attr]
    assert len(engine.asked) == sent + len(partition().members(1, K))


def test_a_refused_query_finds_nothing() -> None:
    search = StickySearch(StickyClient(partition(), K, consent=lambda query: False), Echo(), SameText())
    search.ask(partition().members(0, K)[0])
    assert search.ask(partition().members(1, K)[0]) is None


def test_over_the_network_it_has_to_be_meant() -> None:
    engine = Echo()
    engine.remote = True
    with pytest.raises(InputError, match="pass send_originals=True"):
        StickySearch(StickyClient(partition(), K), engine, SameText())
    StickySearch(StickyClient(partition(), K), engine, SameText(), send_originals=True)
