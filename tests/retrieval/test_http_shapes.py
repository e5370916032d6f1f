"""What each kind of engine is asked, and how its answer is read."""

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from quipukit.errors import EngineError, InputError
from quipukit.retrieval.http import HttpEngine
from tests.retrieval.fake_engine import (
    ANSERINI,
    ELASTICSEARCH,
    OPENSEARCH,
    SOLR,
    Asked,
    FakeEngine,
    Reply,
    connect,
    in_turn,
    searxng,
    sent,
    serving,
)

Serve = Callable[[Callable[[Asked], Reply]], FakeEngine]

ANSWERS = {
    "anserini": Reply(ANSERINI),
    "opensearch": Reply(OPENSEARCH),
    "elasticsearch": Reply(OPENSEARCH),
    "solr": Reply(SOLR),
    "searxng": Reply(searxng(1, 2)),
}
KINDS = list(ANSWERS)
FOUND = ["2367", "2005"]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))


class TestShapes:
    def test_anserini(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI)))
        [result] = connect(server).search(["microwave techniques"], depth=50)
        assert result.docnos == FOUND
        assert result.scores.tolist() == [4.3212, 4.2954]
        [asked] = server.asked
        assert (asked.method, asked.path) == ("GET", "/v1/%2Findexes%2Fvaswani/search")
        assert asked.params == {"query": "microwave techniques", "hits": "50"}

    def test_anserini_takes_a_name_instead_of_a_path(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI)))
        HttpEngine(f"anserini+http://{server.host}/robust04").search(["x"], 1)
        assert server.asked[0].path == "/v1/robust04/search"

    def test_opensearch(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(OPENSEARCH)))
        [result] = connect(server, "opensearch", "?field=text").search(["microwave techniques"], depth=50)
        assert result.docnos == FOUND
        [asked] = server.asked
        assert (asked.method, asked.path) == ("POST", "/news/_search")
        assert asked.params == {"allow_partial_search_results": "false"}
        assert asked.json == {
            "query": {"match": {"text": {"query": "microwave techniques"}}},
            "size": 50,
            "track_total_hits": False,
            "_source": False,
        }

    def test_elasticsearch_with_several_fields_and_ids_in_a_field(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ELASTICSEARCH)))
        [result] = connect(server, "elasticsearch", "?field=title^2,body&docno=key").search(["microwave"], depth=5)
        assert result.docnos == FOUND
        body = server.asked[0].json
        assert body["query"] == {"multi_match": {"query": "microwave", "fields": ["title^2", "body"], "lenient": True}}
        assert body["_source"] == ["key"]

    def test_solr(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(SOLR)))
        [result] = connect(server, "solr", "?field=title,body").search(["microwave techniques"], depth=50)
        assert result.docnos == FOUND
        [asked] = server.asked
        assert (asked.method, asked.path, asked.params) == ("POST", "/solr/news/select", {"wt": "json"})
        assert asked.form["q"] == "microwave techniques"
        assert asked.form["qf"] == "title body"
        assert (asked.form["rows"], asked.form["fl"]) == ("50", "id,score")
        assert (asked.form["defType"], asked.form["q.operators"], asked.form["expandMacros"]) == ("simple", "", "false")

    def test_searxng_turns_pages_until_the_depth_is_reached(self, serve: Serve) -> None:
        server = serve(
            lambda asked: Reply(searxng(*range(10 * int(asked.form["pageno"]), 10 + 10 * int(asked.form["pageno"]))))
        )
        [result] = connect(server, "searxng", "?engines=wikipedia&language=en").search(["microwave"], depth=25)
        assert result.docnos == [f"https://example.org/{number}" for number in range(10, 35)]
        assert result.scores.tolist() == [1 / rank for rank in range(1, 26)]
        assert [asked.form["pageno"] for asked in server.asked] == ["1", "2", "3"]
        first = server.asked[0]
        assert (first.method, first.path, first.params) == ("POST", "/search", {"format": "json"})
        assert first.form == {"q": "microwave", "pageno": "1", "engines": "wikipedia", "language": "en"}

    @pytest.mark.parametrize("last", [searxng(), searxng(2, 1), searxng(unresponsive=[["bing", "timeout"]])])
    def test_searxng_stops_at_a_page_with_nothing_new(self, serve: Serve, last: Any) -> None:
        server = serve(in_turn(Reply(searxng(1, 2, 3)), Reply(searxng(3, 4)), Reply(last)))
        [result] = connect(server, "searxng").search(["microwave"], depth=100)
        assert result.docnos == [f"https://example.org/{number}" for number in (1, 2, 3, 4)]
        assert len(server.asked) == 3

    @pytest.mark.parametrize(
        ("kind", "empty"),
        [
            ("anserini", ANSERINI | {"candidates": []}),
            ("opensearch", OPENSEARCH | {"hits": {"max_score": None, "hits": []}}),
            ("elasticsearch", ELASTICSEARCH | {"hits": {"max_score": None, "hits": []}}),
            ("solr", SOLR | {"response": {"numFound": 0, "start": 0, "maxScore": 0.0, "docs": []}}),
            ("searxng", searxng()),
        ],
    )
    def test_nothing_found(self, serve: Serve, kind: str, empty: Any) -> None:
        server = serve(in_turn(Reply(empty)))
        [result] = connect(server, kind).search(["microwave"], depth=10)
        assert result.docnos == []
        assert result.scores.shape == (0,) and result.scores.dtype == np.float64
        assert len(server.asked) == 1

    def test_ties_by_docno_each_document_once_and_never_more_than_the_depth(self, serve: Serve) -> None:
        hits = [("b", 1.0), ("a", 1.0), ("c", 2.0), ("a", 0.5), ("d", 0.1)]
        answer = ANSERINI | {"candidates": [{"docid": docno, "score": score} for docno, score in hits]}
        [result] = connect(serve(in_turn(Reply(answer)))).search(["x"], depth=3)
        assert result.docnos == ["c", "a", "b"]
        assert result.scores.tolist() == [2.0, 1.0, 1.0]

    def test_results_are_in_the_order_of_the_queries_and_progress_is_told(self, serve: Serve) -> None:
        def answer(asked: Asked) -> Reply:
            number = int(asked.params["query"])
            return Reply(ANSERINI | {"candidates": [{"docid": f"d{number}", "score": 1.0}]}, delay=0.002 * (number % 5))

        told: list[tuple[int, int]] = []
        results = connect(serve(answer)).search([*map(str, range(30)), ""], 10, lambda *counts: told.append(counts))
        assert [result.docnos for result in results] == [*([f"d{number}"] for number in range(30)), []]
        assert told == [(done, 31) for done in range(1, 32)]


class TestWords:
    """Whatever stands in a query, it is words."""

    NASTY = (
        'say "no" now',
        "a AND (b OR NOT c",
        "+must -not field:value wild* fuzzy~2 boost^3 [a TO b] {!func}x ${q} \\",
        "it's 50% of C++ & C# / .net",
        "naïve 日本語 café 😀",
        "tab\tnew\nline \x00 zero",
        "half \ud83d surrogate",
        "{!lucene df=secret}word",
        "?q=1&hits=9#fragment",
    )

    @pytest.mark.parametrize("kind", KINDS)
    def test_nasty_queries_are_sent_and_answered(self, serve: Serve, kind: str) -> None:
        server = serve(in_turn(ANSWERS[kind]))
        results = connect(server, kind, concurrency=1, timeout=5).search(self.NASTY, depth=2)
        assert all(len(result.docnos) == 2 for result in results)
        assert len(server.asked) == len(self.NASTY)

    @pytest.mark.parametrize("kind", ["anserini", "opensearch", "elasticsearch"])
    def test_parsers_without_syntax_get_the_words_as_they_are(self, serve: Serve, kind: str) -> None:
        server = serve(in_turn(ANSWERS[kind]))
        connect(server, kind, concurrency=1).search(self.NASTY, depth=2)
        expected = [*self.NASTY[:5], "tab new line zero", "half surrogate", *self.NASTY[7:]]
        assert [sent(asked) for asked in server.asked] == expected

    def test_solr_is_given_no_local_parameters(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(SOLR)))
        connect(server, "solr").search(["{!lucene df=secret}word"], depth=2)
        assert sent(server.asked[0]) == "!lucene df=secret}word"

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ('"exact phrase" -without +with', "exact phrase without with"),
            ("!images :de <5 !!g ??wp cats", "images de 5 g wp cats"),
            ("site:example.org intitle:-x cats OR dogs", "site example.org intitle x cats or dogs"),
            ("state-of-the-art C++ at 12:30, company's", "state-of-the-art C++ at 12:30, company's"),
            ("(a | b) & c* ~d 😀 -- !", "a b c d 😀"),
        ],
    )
    def test_searxng_gets_words_only(self, serve: Serve, query: str, words: str) -> None:
        server = serve(in_turn(Reply(searxng(1))))
        connect(server, "searxng").search([query], depth=1)
        assert sent(server.asked[0]) == words

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_query_with_nothing_in_it_sends_nothing(self, serve: Serve, kind: str) -> None:
        server = serve(in_turn(ANSWERS[kind]))
        results = connect(server, kind).search(["", " \t\n", '"" ?! +-*', "{!", "\x00", "\ud800"], depth=5)
        assert [result.docnos for result in results] == [[]] * 6
        assert not server.asked and not server.connections

    def test_a_query_too_long_for_a_url(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI)))
        with pytest.raises(EngineError, match="query 2 of 2: the query is too long"):
            connect(server).search(["x", "word " * 20_000], depth=5)


class TestSpecs:
    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ("http://host/x?hunter2", "KIND"),
            ("lycos+http://host/hunter2", "anserini, opensearch, elasticsearch, solr, searxng"),
            ("solr+ftp://host/hunter2", "KIND"),
            ("solr+http:///hunter2", "KIND"),
            ("solr+http://host:hunter2/x", "host and port"),
            ("solr+http://[::1/hunter2", "host and port"),
            ("solr+http://host/x#hunter2", "KIND"),
            ("opensearch+http://alice:hunter2@host/x", "must hold no user or password"),
            ("opensearch+http://alice:1/hunter2@host/x", "must hold no user or password"),
            ("opensearch+http://host/", "lacks the index"),
            ("anserini+http://host//", "lacks the index"),
            ("anserini+http://host/x?field=y", "takes no options; remove the rest"),
            ("solr+http://host/x?hunter2=y", "takes the options docno, field, snippet, title, url and no other"),
            ("solr+http://host/x?key=hunter2", "A key goes into QUIPUKIT_ENGINE_TOKEN"),
        ],
    )
    def test_wrong(self, spec: str, words: str) -> None:
        with pytest.raises(InputError) as caught:
            HttpEngine(spec)
        assert words in str(caught.value)
        assert "hunter2" not in "".join(traceback.format_exception(caught.value)).replace(spec, "")
        assert "hunter2" not in str(caught.value)

    @pytest.mark.parametrize("options", [{"timeout": 0}, {"retries": -1}, {"concurrency": 0}, {"patience": 0}])
    def test_wrong_options(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="needs timeout"):
            HttpEngine("searxng+http://host", **options)

    def test_wrong_depth(self) -> None:
        with pytest.raises(InputError, match=r"at least 1 \(found 0\)"):
            HttpEngine("searxng+http://host").search(["x"], 0)

    def test_name_is_identity(self) -> None:
        engine = HttpEngine("solr+https://host:8983/solr/core/?docno=key&field=a,b")
        assert engine.name == engine.identity == "solr+https://host:8983/solr/core?docno=key&field=a%2Cb"
        assert HttpEngine(engine.name).identity == engine.identity
