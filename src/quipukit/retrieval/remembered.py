"""Scores that are computed once and remembered, for experiments in which many settings pool the same documents."""

from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from quipukit.progress import Progress
from quipukit.retrieval.base import Scorer, scored


class RememberedScores(Scorer):
    """A re-ranker that scores each (query, document) pair once, whichever settings pooled the document."""

    def __init__(self, scorer: Scorer) -> None:
        """Stand before a re-ranker."""
        self.scorer, self.name = scorer, scorer.name
        self._scores: dict[str, dict[str, float]] = {}

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the scores of every (query, docnos) pair, computing only those that are not remembered."""
        wanted: dict[str, set[str]] = {}
        for query, docnos in batches:
            wanted.setdefault(query, set()).update(docnos)
        self.remember(wanted, progress)
        return [self.known(query, docnos) for query, docnos in batches]

    def remember(self, wanted: Mapping[str, Set[str]], progress: Progress | None = None) -> None:
        """Compute the scores of a query's documents that are not remembered."""
        new = [
            (query, sorted(unknown))
            for query, docnos in wanted.items()
            if (unknown := docnos - self._scores.setdefault(query, {}).keys())
        ]
        if new:
            for (query, docnos), scores in zip(new, scored(self.scorer, new, progress), strict=True):
                self._scores[query].update(zip(docnos, scores.tolist(), strict=True))

    def known(self, query: str, docnos: Sequence[str]) -> NDArray[np.float64]:
        """Return what is remembered for a query and some documents."""
        return np.fromiter(map(self._scores[query].__getitem__, docnos), np.float64, len(docnos))

    def forget(self) -> None:
        """Let go of all scores: those of other queries are not asked for again."""
        self._scores.clear()
