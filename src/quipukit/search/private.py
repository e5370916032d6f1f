"""Private search: type a query, and only what a mechanism makes of it leaves; answers are ranked on this machine."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from quipukit.errors import InputError, QuipukitError, SearchError
from quipukit.mechanisms.base import Mechanism, check_count
from quipukit.obfuscation import mechanism as bind
from quipukit.retrieval.base import Retriever
from quipukit.retrieval.consent import are_originals
from quipukit.search.answers import Answer, Hit, Preview
from quipukit.search.drafts import Draft, drafter_of
from quipukit.search.system import Fetched, RerankOn, open_system
from quipukit.search.wording import DEFAULT, composed_in_words, guarantee_in_words, reason_of
from quipukit.specs import Spec
from quipukit.text import key

VARIANTS = 20
T = TypeVar("T")


class PrivateSearch:
    """One session of one user with a search system: ``search`` answers queries, ``preview`` says what would leave.

    ``engine`` is ``wordnet`` (the built-in collection), another collection that is searched on this machine, an
    engine's address (docs/engines.md) or a `Retriever`. ``mechanism`` hides the queries; by default the sticky cover
    that ``reason`` says why. ``n`` is the number of variants for mechanisms that do not say it themselves.

    Both methods may be called by several threads at once. Noise and order come from the operating system.

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
        memo: bool = True,
    ) -> None:
        self.mechanism = bind(DEFAULT if mechanism is None else mechanism)
        self.n = check_count(VARIANTS if n is None else n)
        self.system = open_system(engine, reranker, rerank_on, depth)
        self.reason = reason_of(self.mechanism)
        self._drafts = drafter_of(self.mechanism, self.n, memo)
        self._lock = threading.Lock()
        self._nodes: dict[int, Future[Fetched]] = {}  # what was fetched in this session, by node

    def start(self) -> None:
        """Load all that the first query would have to wait for."""
        with self._lock:
            self._drafts.draft("something that is in no list of public queries")
        self.system.ranked("warm up", [self.system.fetch(["warm up"])] if not self.system.remote else [])

    def new_session(self) -> None:
        """Forget what was fetched and which topics were released: the next query sends its texts."""
        with self._lock:
            self._nodes.clear()
            self._drafts.forget()

    def preview(self, query: str) -> Preview:
        """Return what would leave for a query; nothing is sent, and nothing changes."""
        return _guarded(lambda: self._preview(_checked(query)))

    def search(self, query: str) -> Answer:
        """Return the documents for a query."""
        return _guarded(lambda: self._search(_checked(query)))

    def _preview(self, query: str) -> Preview:
        with self._lock:
            return self._described(query, self._drafts.draft(query))

    def _search(self, query: str) -> Answer:
        begin = time.perf_counter()
        with self._lock:
            draft = self._drafts.draft(query)
            preview = self._described(query, draft)
            self._drafts.sent(query, draft)
            waiting: Future[Fetched] | None = None
            if draft.node >= 0 and draft.texts:
                waiting = self._nodes[draft.node] = Future()
        fetched, own = self._fetched(draft, waiting)
        ranking = self.system.ranked(query, fetched)
        best = ranking.docnos[: self.system.depth]
        hits = tuple(
            Hit(docno, shown.url, shown.title, shown.snippet, float(score))
            for docno, score, shown in zip(best, ranking.scores, self.system.shown(best), strict=False)
        )
        return Answer(hits, preview, own.failed, time.perf_counter() - begin)

    def _fetched(self, draft: Draft, waiting: "Future[Fetched] | None") -> tuple[list[Fetched], Fetched]:
        """Return all that a query can be answered from, and what was fetched for this one."""
        if draft.node < 0 or draft.refused:
            own = self.system.fetch(draft.texts) if draft.texts else Fetched()
            return [own], own
        if waiting is not None:
            try:
                waiting.set_result(self.system.fetch(draft.texts))
            except BaseException as fault:
                waiting.set_exception(fault)
                raise
        # Another thread may be fetching the node: its answer is waited for, and not asked for twice.
        own = self._nodes[draft.node].result()
        with self._lock:
            everything = [one.result() for one in self._nodes.values() if one.done() and not one.exception()]
        return (everything if self.system.reranker is not None else [own]), own if waiting is not None else Fetched()

    def _described(self, query: str, draft: Draft) -> Preview:
        original = bool(are_originals(draft.texts, [query]).any())
        warnings = []
        if draft.refused:
            warnings.append("This query is under another topic than the first, and further=False refuses a second one.")
        elif not draft.texts and not draft.local:
            warnings.append("The mechanism found nothing to send for this query, so nothing is found.")
        guarantee = self.mechanism.guarantee
        nodes = len(self._nodes) + (draft.node >= 0 and draft.node not in self._nodes and not draft.refused)
        return Preview(
            texts=draft.texts,
            local=draft.local,
            sends_original=original,
            guarantee=guarantee_in_words(guarantee),
            composed=composed_in_words(guarantee, len(draft.texts), nodes),
            warnings=tuple(warnings),
        )


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
