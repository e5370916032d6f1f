"""Search: one private search per engine and setting, kept for as long as the service runs."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quipukit.errors import InputError
from quipukit.mechanisms.base import Mechanism
from quipukit.specs import Spec
from quipukit.web.settings import MOST_VARIANTS, Mechanisms

BUILT_IN = "wordnet"
KINDS = ("anserini", "opensearch", "elasticsearch", "solr", "searxng")
NO_LEDGER = "none"
_KEPT = 8


class Searcher(Protocol):
    """What the service needs of a `quipukit.search.PrivateSearch`."""

    @property
    def reason(self) -> str:
        """Why this mechanism, in one sentence."""

    @property
    def mechanism(self) -> Mechanism:
        """What hides the queries."""

    def start(self) -> None:
        """Load all that the first query would have to wait for."""

    def new_session(self) -> None:
        """Forget what was fetched."""

    def preview(self, query: str) -> Any:
        """Return what would leave; nothing does."""

    def search(self, query: str, *, over_limit: bool = False) -> Any:
        """Return the documents, and what left for them; what crosses a limit of the ledger needs ``over_limit``."""


OpenSearcher = Callable[[str, "str | None", "int | None"], Searcher]


def private_searches(ledger: str | None) -> OpenSearcher:
    """Return what opens searches of the core package; all count in one ledger: a file (None: the usual), or none."""
    from quipukit.search.ledger import IN_MEMORY, Ledger
    from quipukit.search.private import PrivateSearch

    counted = Ledger(IN_MEMORY if ledger == NO_LEDGER else ledger)

    def opened(engine: str, mechanism: str | None, n: int | None) -> Searcher:
        searcher: Searcher = PrivateSearch(engine, mechanism, n, ledger=counted)
        return searcher

    return opened


@dataclass(frozen=True)
class Wish:
    """Which engine and setting a search uses; None stands for the default."""

    engine: str
    mechanism: str | None = None
    n: int | None = None


class Searches:
    """The searches that are open, the last ones used. Sessions and what was fetched for them live in them."""

    def __init__(
        self, mechanisms: Mechanisms, engines: Sequence[str], *, any_engine: bool, opener: OpenSearcher
    ) -> None:
        """Offer some engines; with ``any_engine`` the page may name others."""
        self.engines = list(dict.fromkeys(engines)) or [BUILT_IN]
        self.any_engine = any_engine
        self._mechanisms, self._opener = mechanisms, opener
        self._lock = threading.Lock()
        self._open: OrderedDict[Wish, Searcher] = OrderedDict()

    def wish(self, engine: str | None, mechanism: str | None, value: float | None, n: int | None) -> Wish:
        """Return a checked wish."""
        chosen = engine or self.engines[0]
        if chosen not in self.engines and chosen != BUILT_IN:
            if not self.any_engine:
                raise InputError("this service searches the engines that it was started with; choose one of them.")
            kind, plus, _ = chosen.partition("+")
            if not plus or kind not in KINDS:
                raise InputError(f"an engine is written as KIND+URL, where KIND is one of {', '.join(KINDS)}.")
        if n is not None and not 1 <= n <= MOST_VARIANTS:
            raise InputError(f"N, the number of variants, is 1 to {MOST_VARIANTS} (found {n}).")
        if mechanism is None:
            return Wish(chosen)
        bound = self._mechanisms.bound(mechanism, value)
        return Wish(chosen, repr(Spec(bound.name, (), bound.value if bound.parameter else None)), n)

    def open(self, wish: Wish) -> Searcher:
        """Return the search of a wish, the same as before where there is one."""
        with self._lock:
            if wish not in self._open:
                self._open[wish] = self._opener(wish.engine, wish.mechanism, wish.n)
            self._open.move_to_end(wish)
            while len(self._open) > _KEPT:
                self._open.popitem(last=False)
            return self._open[wish]

    def forget(self) -> None:
        """Let all searches begin a new session; what they have loaded stays."""
        with self._lock:
            for searcher in self._open.values():
                searcher.new_session()
