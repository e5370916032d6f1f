"""The best rows of a log, by workers that each look at a part of it."""

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.ranks import FEWEST_TO_SEND, LogRows, best_rows, part_size
from quipukit.attackers.sharedrows import Reading, SharedRows
from quipukit.executors.base import Executor, slices
from quipukit.executors.shared import Shared

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def best_rows_by(
    executor: Executor | None, centroids: Floats, reading: Reading, turns: Rows, top: int
) -> tuple[Rows, Floats]:
    """Return what `best_rows` does; where there are workers, each finds the best rows of some parts.

    The best of all are among the best of the parts; of level ones those with lower ``turns`` come first.
    """
    fewest = 1 if isinstance(reading.read, SharedRows) else FEWEST_TO_SEND
    if executor is None or executor.in_process or len(centroids) < fewest:
        rows, scores = best_rows(centroids, reading.read, reading.in_order(turns), top)
        return reading.rows(rows), scores
    ordered = reading.in_order(turns)
    spans = slices(len(turns), executor.parts(), *part_size(executor, centroids.shape[1], reading.read))
    wanted = Centroids(np.ascontiguousarray(centroids))
    items = (_Part(wanted, LogRows(reading.read, one.start, one.stop), ordered[one], top) for one in spans)
    found: list[tuple[Rows, Floats]] = [(np.empty((0, 0), np.int64), np.empty((0, 0)))] * len(spans)
    for number, (rows, scores) in executor.map(_best_of_part, items):
        found[number] = rows + spans[number].start, scores
    rows, scores = np.hstack([rows for rows, _ in found]), np.hstack([scores for _, scores in found])
    best = np.lexsort((ordered[rows], -np.round(scores, 12)), axis=1)[:, :top]
    chosen = np.take_along_axis(rows, best, axis=1)
    return reading.rows(chosen), np.take_along_axis(scores, best, axis=1)


@dataclass(frozen=True, eq=False)
class Centroids(Shared):
    """What rows are compared with; they travel to every worker once."""

    kind: ClassVar[str] = "centroids"

    vectors: Floats

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over them."""
        return hashlib.sha256(self.vectors.data).hexdigest()


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of the log to look for the best rows in."""

    centroids: Centroids
    rows: LogRows
    turns: Rows
    top: int


def _best_of_part(part: _Part) -> tuple[Rows, Floats]:
    first = part.rows.start
    read: Callable[[int, int], Any] = lambda start, stop: part.rows.read(first + start, first + stop)  # noqa: E731
    return best_rows(part.centroids.vectors, read, part.turns, part.top)
