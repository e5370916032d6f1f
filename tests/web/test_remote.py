"""Search and its engines, from the page's own calls to what arrives at an engine on loopback: `web.searching`."""

import contextlib
import gzip
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.http import HttpEngine
from quipukit.search.ledger import IN_MEMORY, Ledger
from quipukit.search.private import PrivateSearch
from quipukit.web.searching import Searcher
from quipukit.web.service import Service
from tests.retrieval.fake_engine import Asked, FakeEngine, Reply, searxng, sent, serving
from tests.web.fakes import SECRET, client, small_log

WISH = {"query": SECRET, "mechanism": "CMP", "value": 2, "n": 4}
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m"


def page_of(asked: Asked) -> Reply:
    """Answer as SearXNG: two pages of results, the second empty."""
    return Reply(searxng(*(range(1, 6) if asked.form.get("pageno", "1") == "1" else ())))


def index_of(asked: Asked) -> Reply:
    """Answer as OpenSearch, with the fields that were asked for."""
    named = {"headline": "A headline", "lead": "What it says", "link": "https://example.org/a"}
    fields = {name: named[name] for name in asked.json["_source"] or ()}
    hits = [{"_id": f"d{number}", "_score": 3.0 - number, "_source": fields} for number in range(2)]
    return Reply({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits}})


def address(kind: str, server: FakeEngine) -> str:
    paths = {"searxng": "", "opensearch": "/news?title=headline&snippet=lead&url=link"}
    return f"{kind}+http://{server.host}{paths[kind]}"


def everything(asked: Asked) -> str:
    return f"{asked.path} {asked.params} {asked.headers} {asked.raw.decode()}".casefold()


@contextlib.contextmanager
def at_work(**options: Any) -> Iterator[TestClient]:
    with client(Service(ledger="none", log=small_log(), **options)) as own:
        yield own


@pytest.mark.parametrize(("kind", "answer"), [("searxng", page_of), ("opensearch", index_of)])
def test_nothing_but_the_variants_leaves(kind: str, answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.NOTSET)
    with serving(answer) as server, at_work(engines=[address(kind, server)]) as page:
        wish = {**WISH, "engine": address(kind, server)}
        shown = page.post("/api/search", json={**wish, "dry_run": True}).json()["preview"]
        assert not server.asked and len(shown["texts"]) == 4
        body = page.post("/api/search", json=wish).json()
        # What was shown beforehand is what leaves, and what the page says that the engine saw.
        assert sorted(body["preview"]["texts"]) == sorted(shown["texts"])
        assert {sent(one) for one in server.asked} == set(body["preview"]["texts"])
        assert not are_originals([SECRET], [sent(one) for one in server.asked]).any()
        assert not any(SECRET in everything(one) for one in server.asked)
        assert {one.headers["user-agent"] for one in server.asked} == {"quipukit"}
        assert not any("cookie" in one.headers or "referer" in one.headers for one in server.asked)
        assert body["failed"] == 0 and body["hits"][0]["url"].startswith("https://example.org/")
        assert body["hits"][0]["title"] and body["hits"][0]["snippet"]
        # The guesses are made here.
        before = len(server.asked)
        guesses = {**wish, "texts": body["preview"]["texts"], "searched": True}
        assert page.post("/api/guesses", json=guesses).json()["attackers"]
        assert len(server.asked) == before
        # The same query sends the same again; a program that speaks SearXNG reaches the same engine.
        page.post("/api/search", json=wish)
        assert {sent(one) for one in server.asked} == set(body["preview"]["texts"])
    assert SECRET not in caplog.text


@pytest.mark.slow  # loads the built-in partition, and sends its hundred texts with pauses
def test_a_program_that_speaks_searxng_searches_through_an_engine_of_its_own_kind() -> None:
    with serving(page_of) as server, at_work(engines=[address("searxng", server)]) as page:
        answer = page.get("/search", params={"q": SECRET, "format": "json"}).json()
        assert {one["url"] for one in answer["results"]} == {f"https://example.org/{one}" for one in range(1, 6)}
        texts = [sent(one) for one in server.asked]
        assert len(set(texts)) == 100 and not are_originals([SECRET], texts).any()


def impatient(engine: str, mechanism: str | None, n: int | None, timeout: float = 0.4) -> Searcher:
    """Open a search that gives up soon, so that the test need not wait as a person would."""
    soon = HttpEngine(engine, timeout=timeout, retries=0, concurrency=2, shows=True, largest=100_000)
    searcher: Searcher = PrivateSearch(soon, mechanism, n, ledger=Ledger(IN_MEMORY))
    return searcher


BOMB = Reply(gzip.compress(b"0" * 5_000_000), headers={"Content-Encoding": "gzip"})
FAULTS = {
    "an error": (Reply({"error": SECRET}, 500), "HTTP 500"),
    "a huge answer": (Reply(b" " * 200_000 + b"{}"), "larger than"),
    "a bomb": (BOMB, "larger than"),
    "no answer": (Reply({}, delay=1.0), "no answer within 0.4 s"),
    "a drip": (Reply(b"{}" * 50, drip=0.05), "no answer within 0.4 s"),
    "half an answer": (Reply(searxng(1), half=True), "broke before the answer was complete"),
    "a page": (Reply(f"<html>{SECRET}</html>".encode(), headers={"Content-Type": "text/html"}), "not one of SearXNG"),
    "another encoding": (Reply('{"results": "\xe9"}'.encode("latin-1")), "not one of SearXNG"),
    "other JSON": (Reply([SECRET]), "not one of SearXNG"),
    "no access": (Reply({}, 403), "refuses access"),
    "too many requests": (Reply({}, 429, {"Retry-After": "9999"}), "pause"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_engine_that_fails_is_said_in_clear_words(fault: str) -> None:
    reply, words = FAULTS[fault]
    with serving(lambda _: reply) as server, at_work(opener=impatient) as page:
        answer = page.post("/api/search", json={**WISH, "engine": address("searxng", server)})
        assert answer.status_code == 502 and words in answer.json()["error"] and "SearXNG at" in answer.json()["error"]
        assert SECRET not in answer.text and "Traceback" not in answer.text
        assert len(server.asked) <= 4
        # The service goes on.
        assert page.get("/api/status").status_code == 200


def test_a_redirect_to_another_host_is_not_followed() -> None:
    with serving(page_of) as other, at_work(opener=impatient) as page:
        away = Reply(b"", 302, {"Location": f"http://{other.host}/search?format=json"})
        with serving(lambda _: away) as server:
            answer = page.post("/api/search", json={**WISH, "engine": address("searxng", server)})
        assert answer.status_code == 502 and "redirects elsewhere" in answer.json()["error"] and not other.asked


def test_nobody_at_the_address() -> None:
    with serving(page_of) as server:
        gone = address("searxng", server)
    with at_work(opener=impatient) as page:
        answer = page.post("/api/search", json={**WISH, "engine": gone})
        assert answer.status_code == 502 and "no connection; is it running" in answer.json()["error"]


def test_requests_that_fail_are_counted_and_the_rest_is_used() -> None:
    unlucky: list[str] = []

    def sometimes(asked: Asked) -> Reply:
        if not unlucky:
            unlucky.append(sent(asked))
        return Reply({}, 500) if sent(asked) in unlucky else page_of(asked)

    with serving(sometimes) as server, at_work(opener=impatient) as page:
        body = page.post("/api/search", json={**WISH, "engine": address("searxng", server)}).json()
        assert body["hits"] and body["failed"] == 1


def hostile(asked: Asked) -> Reply:
    """Answer with markup, scripts, overrides, halves of surrogates and addresses that run something."""
    body = searxng(1, 2, 3)
    first, second, third = body["results"]
    first |= {"title": HOSTILE, "content": HOSTILE * 100, "url": "https://example.org/<script>"}
    second |= {"title": "half \ud800 of one", "content": ["a", {"b": 1}], "url": "javascript:alert(3)"}
    third |= {"title": None, "content": 7, "url": "https://example.org/\udfff"}
    return Reply(body if asked.form.get("pageno", "1") == "1" else searxng())


def test_what_a_hostile_engine_answers_does_no_harm() -> None:
    with serving(hostile) as server, at_work(engines=[address("searxng", server)]) as page:
        wish = {**WISH, "engine": address("searxng", server)}
        answer = page.post("/api/search", json=wish)
        assert answer.status_code == 200, answer.text
        hits = answer.json()["hits"]
        assert len(hits) == 3
        assert all(one["url"].startswith(("https://", "urn:quipukit:")) for one in hits)
        assert all(len(one["snippet"]) <= 1000 and "\x1b" not in one["title"] for one in hits)


@pytest.mark.slow  # the default mechanism: see above
def test_a_hostile_engine_in_the_page_and_in_json() -> None:
    with serving(hostile) as server, at_work(engines=[address("searxng", server)]) as page:
        html = page.get("/search", params={"q": SECRET})
        assert html.status_code == 200 and "<img" not in html.text and "<script>alert" not in html.text
        assert page.get("/search", params={"q": SECRET, "format": "json"}).json()["results"]
