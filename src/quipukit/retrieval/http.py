"""Real search engines over the network: Anserini, OpenSearch, Elasticsearch, Solr, SearXNG.

What leaves this machine is the text of each obfuscated query and the depth, in the order given; cookies are not kept,
redirects are not followed. What stays silent: no query appears in a message or in a log, httpx's own log included.
"""

import contextlib
import json
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import numpy as np

from quipukit.errors import EngineError, InputError
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.credentials import HOW, authorization
from quipukit.retrieval.engines import Call, Engine, Incomplete, read_spec
from quipukit.retrieval.hits import ranking

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0  # seconds between attempts
_LONGEST_PAUSE = 120.0  # an engine that asks for more than this is left alone
_LONGEST_GAP = 60.0
_LARGEST_ANSWER = 256 * 2**20
_randomness = random.SystemRandom()
_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_STATUS = {
    401: f"refuses access; check user and password, or {HOW}",
    403: f"refuses access; check user and password, or {HOW}",
    404: "has nothing at this address; check it",
    429: "receives too many requests; lower the concurrency or try later",
}


class HttpEngine(Retriever):
    """A search engine over HTTP, named by a spec such as ``opensearch+https://host:9200/index?field=text``.

    ``timeout`` is in seconds per request; an attempt that fails for a passing reason is repeated up to ``retries``
    times with growing pauses; ``concurrency`` requests are under way at once, over as many kept connections. A query
    that fails for good does not stop the others, ``patience`` failures in a row do. ``shows`` keeps the titles,
    snippets and addresses that the engine shows. ``gaps`` are the shortest and the longest pause before a request, in
    seconds: a random one tells less than a rhythm. An answer of more than ``largest`` bytes is refused. ``transport``
    replaces httpx's own, for tests.

    >>> engine = HttpEngine("anserini+http://127.0.0.1:8081//data/index", timeout=10)
    >>> engine
    HttpEngine('anserini+http://127.0.0.1:8081//data/index')
    >>> engine.search(["", "?!"], depth=10)  # nothing to search: nothing is sent
    [Ranking(docnos=[], scores=array([], dtype=float64)), Ranking(docnos=[], scores=array([], dtype=float64))]
    """

    remote = True

    def __init__(
        self,
        spec: str,
        *,
        timeout: float = 30.0,
        retries: int = 4,
        concurrency: int = 4,
        patience: int = 3,
        shows: bool = False,
        gaps: tuple[float, float] = (0.0, 0.0),
        largest: int = _LARGEST_ANSWER,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if timeout <= 0 or retries < 0 or concurrency < 1 or patience < 1:
            raise InputError("an engine needs timeout > 0, retries >= 0, concurrency >= 1 and patience >= 1.")
        if not 0 <= gaps[0] <= gaps[1] <= _LONGEST_GAP:
            raise InputError(
                f"gaps are the shortest and the longest pause before a request, from 0 to {_LONGEST_GAP:g} seconds "
                f"(found {gaps}).",
                argument="gaps",
            )
        self.engine = read_spec(spec)
        self.name = self.identity = self.engine.identity
        self.window = self.engine.window
        authorization(self.engine.address)  # a wrong login fails now; it is not stored
        self.timeout, self.retries, self.concurrency, self.patience = timeout, retries, concurrency, patience
        self.shows, self.gaps, self.largest = shows, gaps, largest
        self._transport = transport

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identity!r})"

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        """Return a ranking for every query, in their order; ``progress`` is called with (done, total) after each.

        Raises EngineError if any query failed for good; the rankings of the others are then lost, unless they are
        saved on the way: see ``search_iter`` and ``quipukit.retrieval.saved``.
        """
        rankings: dict[int, Ranking] = {}
        for number, result in self.search_iter(queries, depth):
            rankings[number] = result
            if progress:
                progress(len(rankings), len(queries))
        return [rankings[number] for number in range(len(queries))]

    def search_iter(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, Ranking]]:
        """Yield (position of the query, its ranking) as the answers arrive; raise EngineError after the last one."""
        if depth < 1:
            raise InputError(f"the depth must be at least 1 (found {depth}).")
        waiting: deque[tuple[int, str]] = deque()
        for number, query in enumerate(queries):
            text = self.engine.prepare(query)
            if text:
                waiting.append((number, text))
            else:
                yield number, Ranking([], np.empty(0, np.float64))
        failed: dict[int, str] = {}
        done = len(queries) - len(waiting)
        if waiting:
            with self._connect() as wire, ThreadPoolExecutor(self.concurrency, "quipukit-engine") as pool:
                for number, outcome in self._run(pool, wire, waiting, depth):
                    if isinstance(outcome, Ranking):
                        done += 1
                        yield number, outcome
                    else:
                        failed[number] = outcome
        if failed:
            raise EngineError(self.engine.where, failed[min(failed)], tuple(sorted(failed)), done, len(queries))

    def _run(
        self, pool: ThreadPoolExecutor, wire: "_Wire", waiting: deque[tuple[int, str]], depth: int
    ) -> Iterator[tuple[int, "Ranking | str"]]:
        """Yield the outcome of every query that was asked: its ranking, or why there is none."""
        running: dict[Future[Ranking | str], int] = {}
        in_a_row = 0
        try:
            while running or (waiting and not wire.stopped.is_set()):
                # A few more than can run, so that no worker ever waits for the reader of the results.
                while waiting and len(running) < 2 * self.concurrency and not wire.stopped.is_set():
                    number, text = waiting.popleft()
                    running[pool.submit(_ask, self.engine, wire, text, depth, self.shows)] = number
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, outcome = running.pop(future), future.result()
                    in_a_row = in_a_row + 1 if isinstance(outcome, str) else 0
                    if in_a_row >= self.patience:
                        wire.stopped.set()
                    yield number, outcome
                if wire.stopped.is_set():
                    running = {future: number for future, number in running.items() if not future.cancel()}
        finally:
            wire.stopped.set()
            for future in running:
                future.cancel()

    def _connect(self) -> "_Wire":
        login = authorization(self.engine.address)
        client = httpx.Client(
            timeout=self.timeout,
            transport=self._transport,
            limits=httpx.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency),
            headers={
                "User-Agent": "quipukit",
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
                **({"Authorization": login} if login else {}),
            },
            # A cookie would tie the queries of a user together.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            # A proxy of the environment cannot reach an engine on this machine.
            mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),
        )
        return _Wire(client, self)


def _ask(engine: Engine, wire: "_Wire", text: str, depth: int, shows: bool) -> Ranking | str:
    try:
        return ranking(engine.ask(wire.fetch, text, depth), depth, shows)
    except _Failed as failure:
        return failure.reason


class _TooLarge(Exception):
    """An answer that nobody would want to wait for."""


class _Failed(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class _Trouble:
    reason: str
    passing: bool = True
    pause: float | None = None  # what the engine asked for, in seconds


class _Wire:
    """One batch's connections and patience, shared by its threads."""

    def __init__(self, client: httpx.Client, settings: HttpEngine) -> None:
        self._client, self._engine, self._gaps = client, settings.engine, settings.gaps
        self._timeout, self._retries, self._largest = settings.timeout, settings.retries, settings.largest
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._resume = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with _silence():
            self._client.close()

    def fetch(self, call: Call, read: Callable[[Any], T]) -> T:
        """Send a call until its answer can be read; see engines.Fetch."""
        reason = ""
        if self._gaps[1]:
            self.stopped.wait(_randomness.uniform(*self._gaps))
        for attempt in range(self._retries + 1):
            self._hold()
            outcome = self._attempt(call, read)
            if not isinstance(outcome, _Trouble):
                return outcome
            if not outcome.passing or (outcome.pause or 0) > _LONGEST_PAUSE:
                raise _Failed(outcome.reason)
            reason = f"{outcome.reason} ({attempt + 1} attempt{'s' if attempt else ''})"
            if outcome.pause is not None:  # meant for all requests, not for this one alone
                with self._lock:
                    self._resume = max(self._resume, time.monotonic() + outcome.pause)
            if attempt < self._retries:
                # Jitter, or those that failed together would come back together.
                self.stopped.wait(min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0))
            if self.stopped.is_set():
                break
        raise _Failed(reason)

    def _hold(self) -> None:
        while not self.stopped.is_set() and (delay := self._resume - time.monotonic()) > 0:
            self.stopped.wait(delay)

    def _attempt(self, call: Call, read: Callable[[Any], T]) -> "T | _Trouble":
        # httpx's exceptions hold the request, and with it the query: none leaves this function, not even as a context.
        try:
            with _silence():
                response, body = self._send(call)
            if response.status_code != 200:
                return self._status(response)
            return read(json.loads(body))
        except Incomplete as error:
            return _Trouble(str(error))
        except _TooLarge:
            return _Trouble(
                f"its answer is larger than {self._largest / 2**20:g} MB; ask for less depth", passing=False
            )
        except httpx.InvalidURL:
            return _Trouble("the query is too long for it", passing=False)
        except httpx.HTTPError as error:
            return _Trouble(_network(error, self._timeout))
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            return _Trouble(f"its answer is not one of {self._engine.label}; check kind and address")

    def _send(self, call: Call) -> tuple[httpx.Response, bytes]:
        deadline = time.monotonic() + self._timeout
        request = self._client.build_request(call.method, call.url, params=call.params, data=call.form, json=call.json)
        response = self._client.send(request, stream=True)
        try:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > self._largest:
                    raise _TooLarge
                # httpx's own limit is for one read: an answer that drips would never end.
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("")
            return response, bytes(body)
        finally:
            response.close()

    def _status(self, response: httpx.Response) -> _Trouble:
        status = response.status_code
        if response.is_redirect:
            return _Trouble(f"it redirects elsewhere (HTTP {status}); give the address where it ends", passing=False)
        what = f"it {_STATUS.get(status, 'answers with an error')} (HTTP {status})"
        if status in self._engine.hints:
            what += f"; {self._engine.hints[status]}"
        if status not in _TRY_AGAIN:
            return _Trouble(what, passing=False)
        pause = _retry_after(response.headers.get("Retry-After", ""))
        if pause and pause > _LONGEST_PAUSE:
            what = f"it asks for a pause of {pause:.0f} s (HTTP {status}); try again after that"
        return _Trouble(what, pause=pause)


def _retry_after(header: str) -> float | None:
    """Read Retry-After: seconds, or a date."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _network(error: httpx.HTTPError, timeout: float) -> str:
    # The words are ours: those of the exception may quote the address with the query in it.
    if isinstance(error, httpx.TimeoutException):
        return f"no answer within {timeout:g} s"
    if isinstance(error, httpx.ConnectError):
        if "certificate" in str(error).lower():
            return "its TLS certificate cannot be trusted; name your authority in SSL_CERT_FILE"
        return "no connection; is it running, and is the address right?"
    if isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError)):
        return "the connection broke before the answer was complete"
    return f"its answer cannot be read ({type(error).__name__})"


_silent: ContextVar[bool] = ContextVar("_silent", default=False)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _audible(_: logging.LogRecord) -> bool:
    return not _silent.get()


# httpx logs every URL at INFO, and the query is in it. A filter that looks at who is calling leaves the log of
# everybody else in this process as it was; raising the loggers' level, or passing a switch around, would not.
for _name in ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks"):
    logging.getLogger(_name).addFilter(_audible)
