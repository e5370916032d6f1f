"""The log of an attacker whose scores are cosines: ranks and best rows by its vectors, here or on workers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats
from quipukit.attackers.bestparts import best_rows_by
from quipukit.attackers.ranks import count_better
from quipukit.attackers.sharedrows import Reading, reading
from quipukit.errors import InputError
from quipukit.executors.base import Executor
from quipukit.progress import Progress

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VectorLog:
    """The vectors of an attacker's log; ``places`` is where each row of our log stands in it."""

    attacker: Attacker
    places: Rows
    _known: "list[tuple[Any, Executor | None, Reading]]" = field(default_factory=list, init=False, repr=False)

    def read(self, start: int, stop: int) -> Any:
        """Return the vectors of some rows of our log."""
        vectors = self.attacker.log_vectors
        if vectors is None or len(vectors) != len(self.places):
            raise InputError(f"the attacker {self.attacker.spec!r} has sent_vectors() but no log_vectors, one per row.")
        return vectors[self.places[start:stop]]

    def counts(
        self, vectors: Floats, targets: Rows, progress: Progress | None, executor: Executor | None
    ) -> tuple[Rows, Rows]:
        """Return for each vector how many rows are more similar to it than its target, and how many equally."""
        goals = np.concatenate([self.read(target, target + 1) for target in targets]).astype(np.float64)
        own = self._reading(executor)
        counts = count_better(vectors, own.numbers(targets), own.read, len(self.places), goals, progress, executor)
        return counts.better, counts.tied

    def best(self, vectors: Floats, turns: Rows, top: int, executor: Executor | None) -> tuple[Rows, Floats]:
        """Return the rows that are most similar to each vector, and how similar they are."""
        return best_rows_by(executor, vectors, self._reading(executor), turns, top)

    def _reading(self, executor: Executor | None) -> Reading:
        """Return how the log is read; worked out once, for millions of rows are put into order."""
        vectors = self.attacker.log_vectors
        if not self._known or self._known[0][0] is not vectors or self._known[0][1] is not executor:
            self._known[:] = [(vectors, executor, reading(vectors, self.places, self.read, executor))]
        return self._known[0][2]
