"""The search system behind a private search: what it answers, and how its documents are ranked and shown here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from quipukit.collections.base import Collection
from quipukit.collections.load import load_collection
from quipukit.errors import EngineError, InputError
from quipukit.retrieval.base import Ranking, Retriever, Scorer, Shown
from quipukit.retrieval.fusion import fused_scores
from quipukit.retrieval.load import is_address, load_retriever, load_scorer

RerankOn = Literal["text", "snippet"]
NO_RERANKER = "none"

_TITLE, _SNIPPET = 80, 300  # characters of a text that has neither


@dataclass(frozen=True, eq=False)
class SearchSystem:
    """A retriever, what it searches if that is on this machine, and the user's own re-ranker (None: by rank alone)."""

    retriever: Retriever
    collection: Collection | None
    reranker: Scorer | None
    depth: int = 10

    @property
    def name(self) -> str:
        """Return what the system is called: the name of a collection on this machine, or an engine's address."""
        return self.retriever.name if self.collection is None else self.collection.name

    @property
    def remote(self) -> bool:
        """Return whether texts leave this process."""
        return self.retriever.remote

    def fetch(self, texts: Sequence[str]) -> "Fetched":
        """Ask for texts, in the order given; what fails is counted, and only if nothing is answered it is a fault."""
        try:
            return Fetched(self.retriever.search(list(texts), self.depth))
        except EngineError as fault:
            raise EngineError(fault.engine, fault.reason, fault.failed, fault.done, fault.total) from None

    def ranked(self, query: str, fetched: "Iterable[Fetched]") -> Ranking:
        """Return the documents for a query, the best first, ties by docno: re-ranked here, or fused by their ranks."""
        answers = [ranking for one in fetched for ranking in one.rankings]
        if self.reranker is None:
            scores = fused_scores([ranking.docnos for ranking in answers])
            documents = sorted(scores, key=lambda docno: (-scores[docno], docno))
            return Ranking(documents, np.array([scores[docno] for docno in documents], np.float64))
        documents = sorted({docno for ranking in answers for docno in ranking.docnos})
        if not documents:
            return Ranking([], np.empty(0, np.float64))
        (own,) = self.reranker.score_many([(query, documents)])
        order = np.argsort(-own, kind="stable")  # ties by docno
        return Ranking([documents[place] for place in order], own[order])

    def shown(self, docnos: Sequence[str]) -> list[Shown]:
        """Return what is shown of documents."""
        if self.collection is None:
            return [Shown() for _ in docnos]
        texts = self.collection.texts(list(docnos))
        return [shown_of(texts.get(docno, "")) for docno in docnos]


@dataclass(frozen=True, eq=False)
class Fetched:
    """What a search system answered: a ranking for each text that was answered, and how many were not."""

    rankings: list[Ranking] = field(default_factory=list)
    failed: int = 0


def open_system(engine: str | Retriever, reranker: str, rerank_on: RerankOn | None, depth: int) -> SearchSystem:
    """Return the system that a name, an address or an object stands for, with a re-ranker that fits it."""
    if depth < 1:
        raise InputError(f"the depth must be at least 1 (found {depth}).", argument="depth")
    if rerank_on is not None and rerank_on not in get_args(RerankOn):
        raise InputError(f"rerank_on is 'text' or 'snippet' (found {rerank_on!r}).", argument="rerank_on")
    if isinstance(engine, Retriever):
        return SearchSystem(engine, None, None, depth)
    if is_address(engine):
        return SearchSystem(load_retriever(engine), None, None, depth)
    collection = load_collection(engine)
    scorer = None if reranker == NO_RERANKER else load_scorer(reranker, collection)
    return SearchSystem(load_retriever("bm25", collection), collection, scorer, depth)


def shown_of(text: str) -> Shown:
    """Return what is shown of a document that is nothing but a text: its first words as the title.

    >>> shown_of("gonorrhea, clap: a common venereal disease")
    Shown(title='gonorrhea, clap', snippet='a common venereal disease', url='')
    """
    head, colon, rest = text.partition(": ")
    if not colon or len(head) > _TITLE:
        head, rest = _cut(text, _TITLE), text
    return Shown(head, _cut(rest, _SNIPPET))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"
