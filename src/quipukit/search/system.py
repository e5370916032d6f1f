"""The search system behind a private search: what it answers, and how its documents are ranked and shown here."""

import random
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.errors import EngineError, InputError
from quipukit.retrieval.base import Ranking, Retriever, Scorer, Shown, scored
from quipukit.retrieval.dense import DenseScorer
from quipukit.retrieval.fusion import NO_RERANKER, fused_scores
from quipukit.retrieval.hits import shown_document
from quipukit.retrieval.http import HttpEngine
from quipukit.retrieval.load import is_address, load_retriever, load_scorer, refuse_address
from quipukit.retrieval.saved import Streaming
from quipukit.retrieval.snippets import ShownDocuments, reranker_on
from quipukit.search.held import HeldDocuments

RerankOn = Literal["text", "snippet"]

_TIMEOUT, _RETRIES = 10.0, 1  # somebody is waiting
_LARGEST_ANSWER = 16 * 2**20
_MOST_SHOWN = 100_000  # documents that a re-ranker on snippets remembers
_randomness = random.SystemRandom()


@dataclass(frozen=True, eq=False)
class Fetched:
    """What a search system answered: a ranking for each text that was answered, and how many were not."""

    rankings: Sequence[Ranking] = ()
    failed: int = 0


@dataclass(eq=False)
class SearchSystem:
    """A retriever, what it searches if that is on this machine, and the user's own re-ranker by name ("none": none).

    ``gaps`` are pauses before the requests of a retriever that takes one text at a time; `HttpEngine` has its own.
    """

    retriever: Retriever
    collection: Collection | None
    reranker: str
    depth: int
    gaps: tuple[float, float] = (0.0, 0.0)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ranking = self._new_scorer()  # the re-ranker, and what was shown to it

    @property
    def name(self) -> str:
        """Return what the system is called: the name of a collection on this machine, or an engine's address."""
        return self.retriever.name if self.collection is None else self.collection.name

    @property
    def remote(self) -> bool:
        """Return whether texts leave this process."""
        return self.retriever.remote

    # --- asking ---

    def fetch(self, texts: Sequence[str]) -> Fetched:
        """Ask for texts, in the order given; what fails is counted, and only if nothing is answered it is a fault."""
        rankings: list[Ranking] = []
        trouble: EngineError | None = None
        try:
            rankings.extend(self._answers(texts))
        except EngineError as fault:
            trouble = fault
        if trouble is not None and not rankings:
            # Outside of the except, so that nothing hangs on it.
            raise EngineError(trouble.engine, trouble.reason, trouble.failed, 0, len(texts))
        return Fetched(rankings, len(texts) - len(rankings))

    def _answers(self, texts: Sequence[str]) -> Iterator[Ranking]:
        if isinstance(self.retriever, Streaming):
            for _, ranking in self.retriever.search_iter(texts, self.depth):
                yield ranking
        elif not self.remote:
            yield from self.retriever.search(texts, self.depth)
        else:
            trouble: EngineError | None = None
            for text in texts:
                time.sleep(_randomness.uniform(*self.gaps))
                try:
                    yield from self.retriever.search([text], self.depth)
                except EngineError as fault:
                    trouble = fault
            if trouble is not None:
                raise trouble

    # --- ranking ---

    def ranked(self, query: str, fetched: Iterable[Fetched]) -> Ranking:
        """Return the documents for a query, the best first, ties by docno: re-ranked here, or fused by their ranks."""
        answers = [ranking for one in fetched for ranking in one.rankings]
        shown = {docno: own for ranking in answers for docno, own in ranking.shown.items()}
        documents = sorted({docno for ranking in answers for docno in ranking.docnos})
        scorer, seen = self._ranking
        if scorer is None or not documents or (self.collection is None and not shown):
            fused = fused_scores([ranking.docnos for ranking in answers])
            scores = np.array([fused[docno] for docno in documents], np.float64)
        else:
            # Models with a memory of their own are asked by one thread at a time.
            with nullcontext() if getattr(getattr(scorer, "encoder", None), "quick", False) else self._lock:
                seen.update(shown)
                (scores,) = scored(scorer, [(query, documents)])
            if len(seen) > _MOST_SHOWN:
                self._ranking = self._new_scorer()
        order = np.argsort(-scores, kind="stable")
        return Ranking([documents[place] for place in order], scores[order], shown)

    def reranks(self, fetched: Iterable[Fetched]) -> bool:
        """Return whether documents can be re-ranked: whether there is anything to read but their ids."""
        return self.collection is not None or any(ranking.shown for one in fetched for ranking in one.rankings)

    def shown(self, ranking: Ranking, most: int) -> list[Shown]:
        """Return what is shown of the first documents of a ranking; where there is nothing, the id is the title."""
        docnos = ranking.docnos[:most]
        if self.collection is None:
            return [ranking.shown.get(docno, Shown(title=docno)) for docno in docnos]
        texts = self.collection.texts(docnos)
        return [shown_document(texts.get(docno, docno)) for docno in docnos]

    def forget(self) -> None:
        """Let go of what was shown and encoded for a session."""
        scorer, _ = self._ranking
        if isinstance(scorer, HeldDocuments):
            scorer.forget()
        if self.collection is None:
            self._ranking = self._new_scorer()

    def _new_scorer(self) -> tuple[Scorer | None, dict[str, Shown]]:
        shown: dict[str, Shown] = {}
        if self.reranker == NO_RERANKER:
            return None, shown
        scorer = load_scorer(self.reranker, self.collection or ShownDocuments(None, shown))
        if isinstance(scorer, DenseScorer) and scorer.encoder.quick:
            return HeldDocuments(scorer), shown
        return scorer, shown


def open_system(
    engine: str | Retriever,
    reranker: str,
    rerank_on: RerankOn | None,
    depth: int,
    concurrency: int,
    gaps: tuple[float, float],
) -> SearchSystem:
    """Return the system that a name, an address or an object stands for, with a re-ranker that fits it."""
    if depth < 1:
        raise InputError(f"the depth must be at least 1 (found {depth}).", argument="depth")
    if rerank_on is not None and rerank_on not in get_args(RerankOn):
        raise InputError(f"rerank_on is 'text' or 'snippet' (found {rerank_on!r}).", argument="rerank_on")
    refuse_address(reranker)
    if not isinstance(engine, Retriever) and not is_address(engine):
        collection = load_collection(engine)
        named = reranker_on(reranker, rerank_on or "text")
        return SearchSystem(load_retriever("bm25", collection), collection, named, depth)
    if rerank_on == "text" and reranker != NO_RERANKER:
        raise InputError(
            "the texts of an engine's documents are not on this machine; re-rank on what it shows "
            "(rerank_on='snippet'), or not at all (reranker='none').",
            argument=("rerank_on", "reranker"),
        )
    named = reranker_on(reranker, "snippet")
    if isinstance(engine, Retriever):
        return SearchSystem(engine, None, named, depth, gaps)
    http = HttpEngine(
        engine,
        timeout=_TIMEOUT,
        retries=_RETRIES,
        concurrency=concurrency,
        shows=True,
        gaps=gaps,
        largest=_LARGEST_ANSWER,
    )
    return SearchSystem(http, None, named, depth, gaps)
