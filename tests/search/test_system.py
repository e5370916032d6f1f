"""The system behind a private search: engines over the network that answer well, badly, late, or elsewhere."""

import time
from typing import Any

import numpy as np
import pytest

from quipukit.errors import EngineError, InputError
from quipukit.retrieval.base import Ranking, Retriever, Shown
from quipukit.search.private import PrivateSearch
from quipukit.search.system import open_system
from quipukit.search.wording import NOTHING_SHOWN
from tests.retrieval.fake_engine import ANSERINI, OPENSEARCH, Asked, Reply, in_turn, searxng, sent, serving

TEXTS = ["cat food", "dog food", "bird food"]


def http(server: Any, kind: str = "searxng", options: str = "", **changes: Any) -> PrivateSearch:
    path = {"searxng": "", "anserini": "//indexes/vaswani", "solr": "/solr/news"}.get(kind, "/news")
    return PrivateSearch(
        f"{kind}+http://{server.host}{path}{options}", "Random", 3, **{"gaps": (0.0, 0.0), "depth": 2, **changes}
    )


def test_titles_snippets_and_addresses_of_searxng_are_shown_and_ranked_here() -> None:
    def answer(asked: Asked) -> Reply:
        page = searxng(1, 2)
        page["results"][0] |= {"title": "Income tax", "content": "how to pay less"}
        page["results"][1] |= {"title": "Cat food", "content": "what kittens eat"}
        return Reply(page)

    with serving(answer) as server:
        result = http(server).search("food for my kitten")
        assert [hit.title for hit in result.hits] == ["Cat food", "Income tax"]
        assert result.hits[0].url == "https://example.org/2" and result.failed == 0
        assert {sent(asked) for asked in server.asked} == set(result.preview.texts)
        fused = http(server, reranker="none").search("food for my kitten")
        assert [hit.title for hit in fused.hits] == ["Income tax", "Cat food"]


def test_fields_of_opensearch_are_shown_if_they_are_named() -> None:
    named = {**OPENSEARCH, "hits": {"hits": [{"_id": "1", "_score": 1.0, "_source": {"head": "Zoo", "body": "x y"}}]}}
    with serving(in_turn(Reply(named))) as server:
        (hit,) = http(server, "opensearch", "?title=head&snippet=body").search("animals").hits
        assert (hit.title, hit.snippet) == ("Zoo", "x y")
        assert server.asked[0].json["_source"] == ["head", "body"]
    with serving(in_turn(Reply(OPENSEARCH))) as server:
        result = http(server, "opensearch").search("animals")
        assert result.hits[0].title == "2367" and NOTHING_SHOWN in result.preview.warnings
        assert server.asked[0].json["_source"] is False


def test_documents_of_anserini_are_shown() -> None:
    with serving(in_turn(Reply(ANSERINI))) as server:
        titles = {hit.docno: hit.title for hit in http(server, "anserini").search("animals").hits}
    assert titles == {"2005": "a document", "2367": "2367"}


def test_some_failures_are_counted_and_the_rest_is_used() -> None:
    failing: list[str] = []

    def answer(asked: Asked) -> Reply:
        if not failing:
            failing.append(sent(asked))
        return Reply(b"", 400) if sent(asked) == failing[0] else Reply(searxng(1))

    with serving(answer) as server:
        result = http(server, concurrency=1).search("food for my kitten")
    assert result.failed == 1 and result.hits


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        (Reply(b"", 302, {"Location": "http://elsewhere.example/"}), "redirects"),
        (Reply(b"<html>"), "not one of SearXNG"),
        (Reply(b'{"results": [' + b" " * (17 * 2**20) + b"]}"), "larger than 16 MB"),
        (Reply(b"", 403), "search.formats"),
        (Reply(b"[" * 100_000), "not one of SearXNG"),
        (Reply(searxng(1), half=True), "broke"),
    ],
    ids=["redirect", "html", "huge", "forbidden", "nested", "broken"],
)
def test_what_fails_is_said_without_the_query(reply: Reply, word: str) -> None:
    with serving(in_turn(reply)) as server, pytest.raises(EngineError, match=word) as fault:
        http(server, concurrency=1).search("food for my kitten")
    assert "kitten" not in str(fault.value) and "elsewhere.example" not in str(fault.value)


def test_requests_leave_after_random_pauses_and_few_at_once() -> None:
    with serving(lambda _: Reply(searxng(1), delay=0.02)) as server:
        search = PrivateSearch(f"searxng+http://{server.host}", "Random", 12, gaps=(0.05, 0.1), concurrency=2, depth=1)
        begin = time.monotonic()
        search.search("food for my kitten")
        assert time.monotonic() - begin > 0.25  # 12 requests, two at a time, 0.05 s or more each
        assert server.most_at_once <= 2


def test_the_order_of_requests_is_random() -> None:
    orders = set()
    for _ in range(3):
        with serving(lambda _: Reply(searxng(1))) as server:
            search = PrivateSearch(f"searxng+http://{server.host}", "Cover@50", gaps=(0.0, 0.0), concurrency=1, depth=1)
            search.search("how is gonorrhea treated and passed on")
            orders.add(tuple(map(sent, server.asked)))
    assert len(orders) == 3 and len({frozenset(order) for order in orders}) == 1  # false alarms: 3 / 50!


class Slow(Retriever):
    """A plugin of somebody else's that takes one text at a time, and fails at some."""

    name, remote, shows = "slow", True, True

    def __init__(self, fails: int) -> None:
        self.fails, self.asked = fails, 0

    def search(self, queries: Any, depth: int, progress: Any = None) -> list[Ranking]:
        assert len(queries) == 1
        self.asked += 1
        if self.asked <= self.fails:
            raise EngineError("slow", "no answer", (0,), 0, 1)
        return [Ranking(["a"], np.ones(1), {"a": Shown("A", "text")})]


def test_an_object_of_ones_own_is_asked_text_by_text() -> None:
    system = open_system(Slow(1), "static", None, 5, 4, (0.0, 0.0))
    fetched = system.fetch(TEXTS)
    assert fetched.failed == 1 and len(fetched.rankings) == 2
    with pytest.raises(EngineError, match="no answer"):
        open_system(Slow(3), "static", None, 5, 4, (0.0, 0.0)).fetch(TEXTS)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"rerank_on": "text"}, "rerank_on='snippet'"),
        ({"rerank_on": "title"}, "'text' or 'snippet'"),
        ({"depth": 0}, "depth"),
        ({"reranker": "solr+http://host/solr/x"}, "re-ranker"),
        ({"gaps": (1.0, 0.5)}, "gaps"),
        ({"reranker": "bm25"}, "bm25"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        PrivateSearch("searxng+http://127.0.0.1:9", "Random", **changes)


def test_a_collection_is_re_ranked_on_snippets_if_asked() -> None:
    for on in ("text", "snippet"):
        system = open_system("wordnet", "static", on, 5, 4, (0.0, 0.0))  # type: ignore[arg-type]
        fetched = system.fetch(["venereal disease"])
        ranking = system.ranked("venereal disease", [fetched])
        assert len(ranking.docnos) == 5 and system.shown(ranking, 1)[0].snippet
