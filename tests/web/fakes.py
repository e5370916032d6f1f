"""What the tests of the page stand on: a search that sends nothing, few public queries, a client with the token."""

import functools
from dataclasses import dataclass, field

from starlette.testclient import TestClient

from quipukit.attackers.log import QueryLog
from quipukit.errors import LimitError
from quipukit.search.answers import Answer, Hit, Preview
from quipukit.web.access import HEADER, Access
from quipukit.web.app import create_app
from quipukit.web.results import OpenResult
from quipukit.web.service import Service
from tests.example_results import make_result
from tests.report.results import two_attackers

ROOT = "http://127.0.0.1:8765"
SECRET = "zebra crossing in utrecht"  # a query that must not turn up anywhere
LOG = [f"how to {verb} {thing}" for verb in ("grow", "cook", "fix", "sell") for thing in ("a rose", "rice", "a car")]


@dataclass
class FakeSearch:
    """Answers every query with two documents, one of them hostile."""

    engine: str
    setting: str | None
    n: int | None
    reason: str = "it is the one for tests."
    asked: list[str] = field(default_factory=list)
    mechanism: None = None  # attackers of noise need not know it

    def start(self) -> None:
        """Do nothing."""

    def new_session(self) -> None:
        """Remember that it was asked for."""
        self.asked.append("new session")

    def preview(self, query: str) -> Preview:
        texts = tuple(f"text {number}" for number in range(self.n or 3))
        return Preview(texts, False, False, "nothing leaves", "nothing", ("a warning",))

    def search(self, query: str, *, over_limit: bool = False) -> Answer:
        if query == "too much" and not over_limit:
            raise LimitError("That crosses a limit. Nothing was sent.", argument="over_limit")
        self.asked.append(query)
        hits = (
            Hit("d1", "https://example.org/a?b=1&c=2", "A page", "about <b>something</b>", 2.0),
            Hit("d2", "javascript:alert(1)", "<script>alert('x')</script>", "\N{RIGHT-TO-LEFT OVERRIDE}odd", 1.0),
        )
        return Answer(hits, self.preview(query), 0, 0.01)


@functools.cache
def open_results() -> tuple[OpenResult, ...]:
    """Two results that can be compared."""
    few = ("CMP", "AEA", "Identity")
    first, second = (two_attackers(make_result(mechanisms=few, shift=shift)) for shift in (0.0, 0.1))
    return OpenResult("first", first), OpenResult("second", second)


@functools.cache
def small_log() -> QueryLog:
    return QueryLog.of(LOG)


def service(access: Access | None = None, results: bool = False, **options: object) -> Service:
    own = open_results() if results else ()
    return Service(own, [], access, opener=FakeSearch, log=small_log(), **options)  # type: ignore[arg-type]


def client(own: Service | None = None, token: bool = True, root: str = ROOT) -> TestClient:
    made = own or service()
    headers = {HEADER: made.access.start} if token else {}
    return TestClient(create_app(made), root, headers=headers, raise_server_exceptions=True)
