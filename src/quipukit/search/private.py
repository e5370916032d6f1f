"""Private search: type a query, and only what a mechanism makes of it leaves; answers are ranked on this machine."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

from quipukit.errors import InputError, LimitError, QuipukitError, SearchError
from quipukit.mechanisms.base import Mechanism, check_count
from quipukit.mechanisms.cover import Cover
from quipukit.obfuscation import mechanism as bind
from quipukit.retrieval.base import Retriever
from quipukit.retrieval.consent import are_originals
from quipukit.retrieval.fusion import NO_RERANKER
from quipukit.search.answers import Answer, Hit, Preview
from quipukit.search.budget import Budget
from quipukit.search.drafts import Draft, drafter_of
from quipukit.search.ledger import IN_MEMORY, Ledger, Release
from quipukit.search.system import Fetched, RerankOn, open_system
from quipukit.search.topics import Topics
from quipukit.search.wording import (
    DEFAULT,
    DRAWN_ITSELF,
    NOTHING_SHOWN,
    NOTHING_TO_SEND,
    guarantee_in_words,
    in_the_open,
    reason_of,
)
from quipukit.specs import Spec
from quipukit.text import key

VARIANTS = 20
T = TypeVar("T")


class PrivateSearch:
    """One session of one user with a search system: ``search`` answers queries, ``preview`` says what would leave.

    ``engine`` is ``wordnet`` (the built-in collection), another collection that is searched on this machine, an
    engine's address (docs/engines.md) or a `Retriever`. ``mechanism`` hides the queries; ``reason`` says why the
    default one does. ``n`` is the number of variants for mechanisms that do not say it themselves.

    Answers are re-ranked here with ``reranker``, on the documents' ``text`` where they are on this machine, else on the
    title and ``snippet`` that the engine shows; ``reranker="none"`` fuses them by their ranks. ``ledger`` counts what
    is released (one in memory, if none is given). With ``memo`` a query that is asked again sends the same variants.
    ``concurrency`` requests are under way at once, each after a random pause between the two ``gaps``, in seconds.

    Both methods may be called by several threads. Noise, order and pauses come from the operating system.

    >>> search = PrivateSearch(mechanism="CMP@10", n=2)
    >>> len(search.preview("how does a tumor grow").texts)
    2
    """

    def __init__(
        self,
        engine: str | Retriever = "wordnet",
        mechanism: "str | Spec | Mechanism | None" = None,
        n: int | None = None,
        *,
        reranker: str = "static",
        rerank_on: RerankOn | None = None,
        depth: int = 10,
        ledger: Ledger | None = None,
        memo: bool = True,
        concurrency: int = 4,
        gaps: tuple[float, float] = (0.0, 0.3),
    ) -> None:
        self.mechanism = bind(DEFAULT if mechanism is None else mechanism)
        self.n = check_count(VARIANTS if n is None else n)
        self.system = open_system(engine, reranker, rerank_on, depth, concurrency, gaps)
        if self.system.remote and self.mechanism.sends_original and not isinstance(self.mechanism, Cover):
            raise InputError(
                f"{self.mechanism.name} sends your query as it is, and {self.system.name} is over the network; choose "
                "a mechanism that hides it, or leave the mechanism out.",
                argument="mechanism",
            )
        self.reason = reason_of(self.mechanism)
        self.ledger = Ledger(IN_MEMORY) if ledger is None else ledger
        topics = Topics(self.mechanism)
        self._drafts = drafter_of(self.mechanism, self.n, topics, self.ledger, memo)
        self._budget = Budget(self.mechanism, self.n, self.system.name, topics, self.ledger)
        self._lock = threading.Lock()
        self._nodes: dict[int, Future[Fetched]] = {}  # what was fetched in this session under a sticky cover

    def start(self) -> None:
        """Load all that the first query would have to wait for; nothing is sent."""
        self.preview("something that is in no list of public queries")
        if not self.system.remote:
            self.system.ranked("warm up", [self.system.fetch(["warm up"])])

    def new_session(self) -> None:
        """Forget what was fetched and which topics were released: the next query sends its texts."""
        with self._lock:
            self._nodes.clear()
            self._drafts.forget()
            self._budget.forget()
        self.system.forget()

    def preview(self, query: str) -> Preview:
        """Return what would leave for a query; nothing is sent, and nothing changes."""
        return _guarded(lambda: self._preview(_checked(query)))

    def search(self, query: str, *, over_limit: bool = False) -> Answer:
        """Return the documents for a query; one that would cross a limit of the user's needs ``over_limit``."""
        return _guarded(lambda: self._search(_checked(query), over_limit))

    def _preview(self, query: str) -> Preview:
        with self._lock:
            return self._described(query, self._drafted(query))[0]

    def _search(self, query: str, over_limit: bool) -> Answer:
        begin = time.perf_counter()
        with self._lock:
            draft = self._drafted(query)
            preview, release = self._described(query, draft)
            if preview.over_limit and not over_limit:
                raise LimitError(f"{' '.join(preview.warnings)} Nothing was sent.", argument="over_limit")
            sends = release is not None and bool(draft.texts)
            if release is not None and sends:
                # Counted before it leaves: what cannot be counted is not sent.
                texts = self.ledger.record(release, draft.kept_as, draft.texts, query)
                if set(texts) != set(draft.texts):
                    draft, preview = replace(draft, texts=texts), replace(preview, texts=texts)
                self._drafts.sent(draft)
                self._budget.sent(draft)
            if self._sticky and sends:
                self._nodes[draft.node] = Future()
            node = self._nodes.get(draft.node)
        fetched, own = self._fetched(draft, node)
        ranking = self.system.ranked(query, fetched)
        if own.rankings and self.system.reranker != NO_RERANKER and not self.system.reranks(fetched):
            preview = replace(preview, warnings=(*preview.warnings, NOTHING_SHOWN))
        most = self.system.depth
        hits = tuple(
            Hit(docno, shown.url, shown.title, shown.snippet, score)
            for docno, score, shown in zip(
                ranking.docnos[:most], ranking.scores[:most].tolist(), self.system.shown(ranking, most), strict=True
            )
        )
        return Answer(hits, preview, own.failed, time.perf_counter() - begin)

    @property
    def _sticky(self) -> bool:
        return self.mechanism.name == "StickyCover"

    def _drafted(self, query: str) -> Draft:
        """Return a draft that may leave; where it may not, one that says why and holds no text."""
        draft = self._drafts.draft(query)
        if not self.system.remote or isinstance(self.mechanism, Cover) or not _holds(draft.texts, query):
            return draft
        return replace(draft, texts=(), refused=DRAWN_ITSELF)

    def _described(self, query: str, draft: Draft) -> tuple[Preview, Release | None]:
        """Return what is said about a draft, and what it would release; None where nothing leaves."""
        original = _holds(draft.texts, query)
        warnings, crossed = [], []
        release = None
        if draft.refused:
            warnings.append(draft.refused)
        elif draft.texts:
            release = self._budget.release(query, draft, original)
            crossed = self.ledger.crossed(release)
            warnings += [*crossed, *self._budget.narrowed(draft)]
            if original and not isinstance(self.mechanism, Cover):
                warnings.append(in_the_open(self.mechanism.name))
        elif not draft.local:
            warnings.append(NOTHING_TO_SEND)
        composed = "Nothing leaves." if release is None else self._budget.composed(release)
        promised = guarantee_in_words(self.mechanism.guarantee)
        return (
            Preview(draft.texts, draft.local, original, promised, composed, tuple(warnings), bool(crossed)),
            release,
        )

    def _fetched(self, draft: Draft, node: "Future[Fetched] | None") -> tuple[list[Fetched], Fetched]:
        """Return all that a query can be answered from, and what was fetched for this one."""
        if draft.refused or node is None:
            own = self.system.fetch(draft.texts) if draft.texts else Fetched()
            return [own], own
        if draft.texts:
            self._fetch_node(draft, node)
        # Another thread may be fetching the node: its answer is waited for, and not asked for twice.
        own = node.result()
        with self._lock:
            others = [one for one in self._nodes.values() if one is not node and one.done() and not one.exception()]
        known = [own, *(one.result() for one in others)] if self.system.reranker != NO_RERANKER else [own]
        return known, own if draft.texts else Fetched()

    def _fetch_node(self, draft: Draft, waiting: "Future[Fetched]") -> None:
        try:
            waiting.set_result(self.system.fetch(draft.texts))
        except BaseException as fault:
            with self._lock:
                self._nodes.pop(draft.node, None)
                self._drafts.failed(draft)
            # Those who wait get the kind of fault alone: its words may quote what was sent.
            waiting.set_exception(fault if isinstance(fault, QuipukitError) else SearchError(type(fault).__name__))
            raise


def _holds(texts: tuple[str, ...], query: str) -> bool:
    return bool(are_originals(texts, [query]).any())


def _checked(query: object) -> str:
    if not isinstance(query, str):
        raise InputError(f"a query must be a text (found {type(query).__name__}); pass one string.")
    if not key(query):
        raise InputError("the query is empty; type some words.")
    return query


def _guarded(work: Callable[[], T]) -> T:
    """Do some work; a fault that is not ours ends without its message, which may quote the query."""
    try:
        return work()
    except QuipukitError:
        raise
    except Exception as fault:
        kind = type(fault).__name__
    raise SearchError(f"the search ended with an unexpected fault ({kind}); please report it, without the query.")
