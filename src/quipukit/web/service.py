"""The service behind the pages: its parts are made when they are first needed, so that the page is there at once."""

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from quipukit.errors import InputError
from quipukit.web.access import Access
from quipukit.web.work import COMPUTING, WAITING, Workers

if TYPE_CHECKING:
    from quipukit.attackers.log import QueryLog
    from quipukit.mechanisms.base import Mechanism
    from quipukit.search.conclusions import Conclusions
    from quipukit.web.game import Game
    from quipukit.web.results import OpenResult
    from quipukit.web.searching import OpenSearcher, Searches
    from quipukit.web.settings import Mechanisms

_T = TypeVar("_T")


class Service:
    """Results that are open, engines, and everything that answers a request."""

    def __init__(
        self,
        results: "Sequence[OpenResult]" = (),
        engines: Sequence[str] = (),
        access: Access | None = None,
        *,
        ledger: str | None = None,
        opener: "OpenSearcher | None" = None,
        log: "QueryLog | None" = None,
    ) -> None:
        """Hold results and engines; ``opener`` and ``log``, which attackers know, replace the real ones, in tests.

        ``ledger`` is the file that counts what is released; None for the usual one, "none" for memory alone.
        """
        self.access = access or Access()
        self.results, self.engines = list(results), list(engines)
        self.ready = False
        self.computing, self.waiting = Workers(COMPUTING, "computing"), Workers(WAITING, "waiting")
        self._opener, self._ledger = opener, ledger
        self._lock = threading.RLock()
        self._parts: dict[str, Any] = {} if log is None else {"log": log}

    def _part(self, name: str, make: Callable[[], _T]) -> _T:
        with self._lock:
            if name not in self._parts:
                self._parts[name] = make()
            part: _T = self._parts[name]
            return part

    @property
    def mechanisms(self) -> "Mechanisms":
        """Return the mechanisms."""
        from quipukit.web.settings import Mechanisms

        return self._part("mechanisms", Mechanisms)

    @property
    def log(self) -> "QueryLog":
        """Return the public log that attackers know."""
        from quipukit.attackers.log import read_log
        from quipukit.search.conclusions import LOG

        return self._part("log", lambda: read_log(LOG))

    def conclude(self, query: str, texts: Sequence[str], mechanism: "Mechanism | None") -> "Conclusions":
        """Return what attackers make of texts, with the query marked among their guesses."""
        from quipukit.search.conclusions import conclusions

        return conclusions(texts, self.log, mechanism, query=query)

    @property
    def game(self) -> "Game":
        """Return the game."""
        from quipukit.web.game import Game

        return self._part("game", lambda: Game(self.mechanisms, self.log))

    @property
    def searches(self) -> "Searches":
        """Return the searches."""
        from quipukit.web.searching import Searches, private_searches

        # An engine that somebody else names would let them reach whatever this machine reaches.
        return self._part(
            "searches",
            lambda: Searches(
                self.mechanisms,
                self.engines,
                any_engine=self.access.local,
                opener=self._opener or private_searches(self._ledger),
            ),
        )

    def result(self, number: int) -> "OpenResult":
        """Return one of the results, counted from 0."""
        if not 0 <= number < len(self.results):
            raise InputError(f"{len(self.results)} results are open, counted from 0 (found {number}).")
        return self.results[number]

    def comparison(self, first: int, second: int) -> dict[str, Any]:
        """Return two results compared."""
        with self._lock:
            key = f"compare {first} {second}"
            if key not in self._parts:
                from quipukit.web.comparing import compared

                self._parts[key] = compared(self.result(first).result, self.result(second).result)
            made: dict[str, Any] = self._parts[key]
            return made

    def warm_up(self) -> None:
        """Load and compile what a first query would wait for."""
        from quipukit.web.tryout import variants_of

        for name, value in (("CMP", 10.0), ("Cover", None)):
            variants_of(self.mechanisms.bound(name, value), "how does a tumor grow", 2)
        self.searches.open(self.searches.wish(None, None, None, None)).start()
        # Last, for it takes longest: the attackers learn the whole log.
        self.conclude("how does a tumor grow", ["does tumor grow", "how tumor"], self.mechanisms.bound("Cover", None))
        self.ready = True
