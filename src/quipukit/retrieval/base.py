"""What a search system is to quipukit: texts go in, ranked documents come out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.plugins import fault_of, is_ours, naming
from quipukit.progress import Progress


@dataclass(frozen=True)
class Shown:
    """What a search system shows of a document: enough to decide whether to open it."""

    title: str = ""
    snippet: str = ""
    url: str = ""

    @property
    def text(self) -> str:
        """Return title and snippet as one text, for a re-ranker that has nothing else."""
        return f"{self.title}. {self.snippet}" if self.title and self.snippet else self.title or self.snippet


@dataclass(frozen=True)
class Ranking:
    """The documents found for one query, best first; ties by docno.

    ``shown`` holds what the system shows of them, by docno, where that was asked for and there is something.
    """

    docnos: list[str]
    scores: NDArray[np.float64]
    shown: Mapping[str, Shown] = field(default_factory=dict, repr=False, compare=False)


class Retriever(ABC):
    """A search system bound to a collection or to an address.

    ``remote`` says that queries leave this machine, or this process, over the network: originals are then sent only if
    the user allows it. A plugin sets it on its class. ``identity`` distinguishes the answers of a remote system from
    those of any other, without credentials: if it is set, answers are saved to disk as they arrive, and an interrupted
    run asks only for the rest. ``window`` is the deepest list that the system returns; None means no limit.

    ``portable`` says that ``search`` may run in other processes: the object can be pickled, and answers the same there.
    A remote system always runs in this process, where its login, its consent and its request rate are kept.

    ``shows`` says that its rankings hold what it shows of documents (`Ranking.shown`).
    """

    name: str
    remote: bool = False
    identity: str = ""
    window: int | None = None
    portable: bool = False
    shows: bool = False

    @abstractmethod
    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        """Return a ranking of at most ``depth`` documents for every query, in the order of the queries.

        The caller passes distinct texts. Any text is allowed: punctuation, quotes, operators, nothing at all; a
        query in which nothing is left to search finds nothing. ``progress(done, total)`` is called now and then.
        """


def scored(
    scorer: "Scorer", batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
) -> list[NDArray[np.float64]]:
    """Return `Scorer.score_many`; of a re-ranker of somebody else's checked, with lists that are its own to change."""
    if is_ours(scorer):
        return scorer.score_many(batches, progress)
    given = [(query, list(docnos)) for query, docnos in batches]
    with naming("re-ranker", scorer):
        scores: Any = scorer.score_many(given, progress)  # what its annotation says need not be so
    if [(query, list(docnos)) for query, docnos in batches] != given:
        raise fault_of("re-ranker", scorer, "changed the documents that it was given, so that its scores are of others")
    if not isinstance(scores, list | tuple) or len(scores) != len(batches):
        raise fault_of("re-ranker", scorer, f"gave no list of scores for each of {len(batches):,} queries")
    checked = []
    for (_, docnos), own in zip(batches, scores, strict=True):
        try:
            numbers = np.asarray(own, np.float64)
        except (TypeError, ValueError) as fault:
            raise fault_of("re-ranker", scorer, "gave scores that are no numbers") from fault
        if numbers.shape != (len(docnos),) or not np.isfinite(numbers).all():
            raise fault_of("re-ranker", scorer, f"gave no finite score for each of {len(docnos):,} documents")
        checked.append(numbers)
    return checked


class Scorer(ABC):
    """The user's own model: scores documents against the original query, on the user's machine."""

    name: str

    @abstractmethod
    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        """Return, for every (query, docnos) pair, the scores of its documents."""

    def score(self, query: str, docnos: Sequence[str]) -> NDArray[np.float64]:
        """Return the score of every document for one query."""
        return self.score_many([(query, docnos)])[0]
