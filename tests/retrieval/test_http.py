"""Engines over the network: faults, retries, connections, privacy; against a small server on this machine."""

import contextlib
import logging
import pickle
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from quipukit.errors import EngineError, InputError
from quipukit.retrieval import http
from quipukit.retrieval.base import Ranking
from quipukit.retrieval.http import HttpEngine
from tests.retrieval.fake_engine import (
    ANSERINI,
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

FOUND = ["2367", "2005"]
SECRET = "zebrafinch haemorrhoids"


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:
        yield lambda answer: stack.enter_context(serving(answer))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses between attempts."""
    monkeypatch.setattr(http, "_FIRST_WAIT", 0.01)


def collect(results: Iterator[tuple[int, Ranking]], found: list[int]) -> None:
    for number, _ in results:
        found.append(number)


class TestTrouble:
    GOOD = Reply(ANSERINI)

    @pytest.mark.parametrize(
        "bad",
        [
            Reply({"error": "oops"}, status=500),
            Reply(b"<html>bad gateway</html>", status=502),
            Reply(b"", status=503),
            Reply(b"", status=504),
            Reply({"error": "rejected"}, status=429),
            Reply(ANSERINI, half=True),
            Reply(b'{"api": "v1", "candidates": [{"docid"'),
            Reply(b"\xff\xfe\x00"),
            Reply(b"<html>please log in</html>"),
            Reply({"candidates": None}),
            Reply({"candidates": [{"docid": "1", "score": float("nan")}]}),
            Reply({"candidates": [{"docid": None, "score": 1}]}),
            Reply([]),
            Reply(b"not gzip", headers={"Content-Encoding": "gzip"}),
            Reply(ANSERINI, delay=1.0),
            Reply(ANSERINI, drip=0.1),
        ],
    )
    def test_a_passing_fault_is_tried_again(self, serve: Serve, bad: Reply) -> None:
        server = serve(in_turn(bad, self.GOOD))
        [result] = connect(server, timeout=0.4).search(["microwave"], depth=5)
        assert result.docnos == FOUND
        assert len(server.asked) == 2

    def test_half_an_answer_of_opensearch_or_solr_is_tried_again(self, serve: Serve) -> None:
        shards = OPENSEARCH | {"_shards": {"total": 5, "successful": 4, "skipped": 0, "failed": 1}}
        late = OPENSEARCH | {"timed_out": True}
        server = serve(in_turn(Reply(shards), Reply(late), Reply(OPENSEARCH)))
        assert connect(server, "opensearch").search(["x"], 5)[0].docnos == FOUND
        assert len(server.asked) == 3
        partial = SOLR | {"responseHeader": {"partialResults": True, "status": 0, "QTime": 5}}
        server = serve(in_turn(Reply(partial), Reply(SOLR)))
        assert connect(server, "solr").search(["x"], 5)[0].docnos == FOUND
        assert len(server.asked) == 2

    def test_no_results_because_no_engine_answered_is_not_nothing_found(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(searxng(unresponsive=[["duckduckgo", "CAPTCHA"]]))))
        with pytest.raises(EngineError, match=r"none of the engines behind it answered \(3 attempts\)"):
            connect(server, "searxng", retries=2).search(["x"], 5)

    @pytest.mark.serial
    @pytest.mark.parametrize("date", [False, True])
    def test_retry_after_is_honored_by_all_requests(self, serve: Serve, date: bool) -> None:
        def answer(_: Asked) -> Reply:
            if len(server.asked) > 1:
                return self.GOOD
            # A date has whole seconds, so that it may lie up to a second nearer.
            moment = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
            return Reply(b"", 429, {"Retry-After": moment if date else "1"})

        server = serve(answer)
        begin = time.monotonic()
        connect(server, concurrency=1).search(["a", "b", "c"], 5)
        assert 0.9 <= time.monotonic() - begin < 5
        assert len(server.asked) == 4

    def test_an_engine_that_wants_a_long_pause_is_left_alone(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(b"", 503, {"Retry-After": "3600"})))
        with pytest.raises(EngineError, match=r"asks for a pause of 3600 s \(HTTP 503\)"):
            connect(server).search(["x"], 5)
        assert len(server.asked) == 1

    @pytest.mark.parametrize(
        ("kind", "status", "words"),
        [
            ("anserini", 400, "can its index be opened"),
            ("opensearch", 404, "check the name of the index"),
            ("opensearch", 401, "check user and password"),
            ("elasticsearch", 400, "max_result_window"),
            ("solr", 400, "name a field"),
            ("searxng", 403, "search.formats"),
            ("searxng", 301, "redirects elsewhere"),
        ],
    )
    def test_a_lasting_fault_is_not_tried_again(self, serve: Serve, kind: str, status: int, words: str) -> None:
        target = {"Location": "/elsewhere"} if status == 301 else {}
        server = serve(in_turn(Reply({"error": {"reason": f"cannot parse [{SECRET}]"}}, status, target)))
        with pytest.raises(EngineError) as caught:
            connect(server, kind).search([SECRET], 5)
        assert words in str(caught.value) and f"HTTP {status}" in str(caught.value)
        assert SECRET not in str(caught.value)
        assert len(server.asked) == 1

    def test_the_error_names_engine_and_number(self, serve: Serve) -> None:
        server = serve(lambda asked: Reply(b"", 500) if sent(asked) == "bad" else self.GOOD)
        engine = connect(server, retries=2)
        with pytest.raises(EngineError) as caught:
            engine.search(["a", "", "bad", "b", "c", "d", "e"], 5)
        error = caught.value
        assert str(error) == (
            f"Anserini at {server.host}, query 3 of 7: it answers with an error (HTTP 500) (3 attempts). "
            "Answered: 6 of 7."
        )
        assert (error.failed, error.done, error.total) == ((2,), 6, 7)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        assert sum(sent(asked) == "bad" for asked in server.asked) == 3

    def test_one_bad_query_stops_no_other(self, serve: Serve) -> None:
        server = serve(lambda asked: Reply(b"", 400) if sent(asked) in ("3", "17") else self.GOOD)
        found: list[int] = []
        with pytest.raises(EngineError, match=r"query 4 of 40 \(1 more failed\).*Answered: 38 of 40") as caught:
            collect(connect(server).search_iter([*map(str, range(40))], 5), found)
        assert caught.value.failed == (3, 17)
        assert sorted(found) == [number for number in range(40) if number not in (3, 17)]

    def test_a_dead_engine_is_given_up_soon_and_what_it_answered_stays(self, serve: Serve) -> None:
        server = serve(in_turn(*[self.GOOD] * 20, Reply(b"", 503)))
        found: list[int] = []
        with pytest.raises(EngineError) as caught:
            collect(connect(server, retries=1, concurrency=2).search_iter([*map(str, range(1000))], 5), found)
        assert len(found) == 20
        assert caught.value.done == 20
        # Two failures seen, and with the third as many as are under way or wait for a free connection: four.
        assert 3 <= len(caught.value.failed) <= 2 + 4
        assert len(server.asked) <= 20 + 2 * 6

    def test_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(EngineError, match=f"Solr at 127.0.0.1:{port}, query 1 of 9 .*no connection; is it running"):
            HttpEngine(f"solr+http://127.0.0.1:{port}/solr/news", retries=1).search([*"abcdefghi"], 5)

    @pytest.mark.serial
    def test_a_hang_ends_after_the_timeout(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI, delay=3)))
        begin = time.monotonic()
        with pytest.raises(EngineError, match=r"no answer within 0.2 s \(2 attempts\)"):
            connect(server, timeout=0.2, retries=1).search(["x"], 5)
        assert time.monotonic() - begin < 2


class TestConnections:
    def test_requests_are_bounded_and_connections_reused(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI, delay=0.01)))
        connect(server, concurrency=3).search([*map(str, range(60))], 5)
        assert len(server.asked) == 60
        assert server.most_at_once == 3
        assert server.connections <= 3

    def test_an_error_answer_does_not_cost_the_connection(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(b"busy", 503), Reply(ANSERINI)))
        connect(server, concurrency=1).search(["a", "b"], 5)
        assert (len(server.asked), server.connections) == (3, 1)

    def test_a_reader_that_leaves_early_stops_the_batch(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI)))
        results = connect(server, concurrency=2).search_iter([*map(str, range(1000))], 5)
        next(results)
        results.close()
        assert len(server.asked) <= 5

    def test_loopback_needs_no_proxy(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        assert connect(serve(in_turn(Reply(ANSERINI))), retries=0).search(["x"], 5)[0].docnos == FOUND


class TestPrivacy:
    def test_nothing_is_logged(self, serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
        for name in ("", "httpx", "httpcore", "quipukit"):
            caplog.set_level(logging.DEBUG, logger=name)
        server = serve(in_turn(Reply(ANSERINI), Reply(b"", 500), Reply(ANSERINI, half=True), Reply(b"", 400)))
        with pytest.raises(EngineError):
            connect(server, concurrency=1).search([SECRET, f"{SECRET} b", f"{SECRET} c"], 5)
        assert len(server.asked) == 5
        assert caplog.records == []
        # The same loggers still speak for others, so that this test would have noticed.
        httpx.get(f"http://{server.host}/?query=somebody", trust_env=False)
        assert "somebody" in caplog.text
        assert any(record.name.startswith("httpcore") for record in caplog.records)

    @pytest.mark.parametrize("bad", [Reply(b"", 500), Reply(b"{"), Reply(ANSERINI, half=True), Reply(b"", 404)])
    def test_no_trace_of_the_query_in_errors(self, serve: Serve, bad: Reply) -> None:
        with pytest.raises(EngineError) as caught:
            connect(serve(in_turn(bad)), retries=1).search([SECRET], 5)
        error = caught.value
        assert error.__cause__ is None and error.__context__ is None
        shown = f"{error} {error!r} {error.args} {vars(error)} {''.join(traceback.format_exception(error))}"
        assert not any(word in shown for word in SECRET.split())

    def test_cookies_are_not_kept(self, serve: Serve) -> None:
        server = serve(in_turn(Reply(ANSERINI, headers={"Set-Cookie": "known=1; Path=/"})))
        connect(server, concurrency=1).search(["a", "b"], 5)
        assert all("cookie" not in asked.headers for asked in server.asked)

    def test_redirects_are_not_followed(self, serve: Serve) -> None:
        other = serve(in_turn(Reply(ANSERINI)))
        server = serve(in_turn(Reply(b"", 307, {"Location": f"http://{other.host}/v1/x/search"})))
        with pytest.raises(EngineError, match="redirects"):
            connect(server).search(["x"], 5)
        assert not other.asked

    def test_a_login_is_sent_and_never_shown(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        server = serve(in_turn(Reply(OPENSEARCH), Reply(b"", 401)))
        monkeypatch.setenv("QUIPUKIT_ENGINE_USER", "alice")
        monkeypatch.setenv("QUIPUKIT_ENGINE_PASSWORD", "p@ss")
        engine = HttpEngine(f"opensearch+http://{server.host}/news")
        engine.search(["x"], 5)
        assert server.asked[0].login == "alice:p@ss"
        with pytest.raises(EngineError) as caught:
            engine.search(["x"], 5)
        for shown in (repr(engine), engine.name, engine.identity, str(caught.value), repr(vars(engine))):
            assert "alice" not in shown and "p@ss" not in shown
        with pytest.raises(InputError, match="must hold no user or password"):
            HttpEngine(f"opensearch+http://alice@{server.host}/news")
