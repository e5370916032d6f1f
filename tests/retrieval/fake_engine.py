"""A small HTTP server on this machine that answers as real engines do, well or badly, and keeps count."""

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from quipukit.retrieval.http import HttpEngine


@dataclass(frozen=True)
class Asked:
    """A request as it came in."""

    method: str
    path: str  # as on the wire, escapes and all
    params: dict[str, str]
    headers: dict[str, str]
    raw: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.raw.decode(), keep_blank_values=True))

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def login(self) -> str:
        return base64.b64decode(self.headers["authorization"].removeprefix("Basic ")).decode()


@dataclass(frozen=True)
class Reply:
    """What to answer: anything but bytes is sent as JSON."""

    body: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    half: bool = False  # break the connection in the middle of the body
    delay: float = 0.0
    drip: float = 0.0  # seconds between two bytes


class FakeEngine(ThreadingHTTPServer):
    """``answer`` decides what every request gets; ``asked`` and the counters tell what happened."""

    daemon_threads = True
    block_on_close = False  # a reply that hangs must not hold up the end of the test

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self.at_once = 0
        self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: that clients hang up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open
    disable_nagle_algorithm = True
    server: FakeEngine

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_GET(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), headers, raw)
        with self.server.lock:
            self.server.asked.append(asked)
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
        try:
            reply = self.server.answer(asked)
            time.sleep(reply.delay)
        finally:
            with self.server.lock:  # before the answer is out, or the next request could be counted beside this one
                self.server.at_once -= 1
        self._send(reply)

    do_POST = do_GET

    def _send(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply.half:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        elif reply.drip:
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip)
        else:
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(answer: Callable[[Asked], Reply]) -> Iterator[FakeEngine]:
    """Run a server while the block lasts."""
    with FakeEngine(answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def in_turn(*replies: Reply) -> Callable[[Asked], Reply]:
    """Give each reply once, the last one for ever."""
    left = list(replies)
    lock = threading.Lock()

    def answer(_: Asked) -> Reply:
        with lock:
            return left.pop(0) if len(left) > 1 else left[0]

    return answer


# The shapes of real answers, shortened where nothing reads them.

ANSERINI = {
    "api": "v1",
    "index": "/indexes/vaswani",
    "query": {"text": "microwave techniques"},
    "candidates": [
        {"docid": "2367", "score": 4.3212, "rank": 1, "doc": None},
        {"docid": "2005", "score": 4.2954, "rank": 2, "doc": {"contents": "a document"}},
    ],
}
OPENSEARCH = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 5, "successful": 5, "skipped": 0, "failed": 0},
    "hits": {
        "max_score": 4.3212,
        "hits": [
            {"_index": "news", "_id": "2367", "_score": 4.3212},
            {"_index": "news", "_id": "2005", "_score": 4.2954},
        ],
    },
}
ELASTICSEARCH = {
    "took": 12,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "skipped": 0, "failed": 0},
    "hits": {
        "max_score": 4.3212,
        "hits": [
            {"_index": "news", "_id": "Xy1", "_score": 4.3212, "_ignored": ["body"], "_source": {"key": "2367"}},
            {"_index": "news", "_id": "Xy2", "_score": 4.2954, "_source": {"key": 2005}},
        ],
    },
}
SOLR = {
    "responseHeader": {"zkConnected": True, "status": 0, "QTime": 7, "params": {"q": "x", "wt": "json"}},
    "response": {
        "numFound": 78,
        "start": 0,
        "maxScore": 4.3212,
        "numFoundExact": True,
        "docs": [{"id": "2367", "score": 4.3212}, {"id": ["2005"], "score": 4.2954}],
    },
}


def searxng(*numbers: int, unresponsive: Any = ()) -> dict[str, Any]:
    """A page of SearXNG with the results of these numbers; its scores are in no order."""
    return {
        "query": "microwave techniques",
        "number_of_results": 0,
        "results": [
            {
                "url": f"https://example.org/{number}",
                "title": f"Result {number}",
                "content": "Some words.",
                "publishedDate": None,
                "thumbnail": "",
                "engine": "wikipedia",
                "template": "default.html",
                "parsed_url": ["https", "example.org", f"/{number}", "", "", ""],
                "engines": ["wikipedia", "duckduckgo"],
                "positions": [1, 2],
                "score": float(number % 3),
                "category": "general",
            }
            for number in numbers
        ],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": ["microwave oven"],
        "unresponsive_engines": list(unresponsive),
    }


def connect(server: FakeEngine, kind: str = "anserini", options: str = "", **kwargs: Any) -> HttpEngine:
    path = {"anserini": "//indexes/vaswani", "solr": "/solr/news", "searxng": ""}.get(kind, "/news")
    return HttpEngine(f"{kind}+http://{server.host}{path}{options}", **kwargs)


def sent(asked: Asked) -> str:
    """The text of the query, wherever the engine wants it."""
    if asked.path.endswith("/_search"):
        query: dict[str, Any] = asked.json["query"]["multi_match"]
        return str(query["query"])
    return asked.params["query"] if asked.method == "GET" else asked.form["q"]
