"""Rows of a log's vectors that lie in a folder which all workers see: workers read them there themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.encodings import Encodings, shared_encodings
from quipukit.executors.base import Executor

Rows = NDArray[np.int64]


class SharedRows:
    """Reads rows of a log, in an order, and lets others read them by the names of their files."""

    def __init__(self, encodings: Encodings, order: Rows) -> None:
        """Read ``encodings`` in an order."""
        self._encodings, self._order = encodings, order

    def __call__(self, start: int, stop: int) -> "NDArray[np.float32]":
        """Return some rows."""
        return self._encodings[self._order[start:stop]]

    def referred(self, start: int, stop: int) -> "Encodings | NDArray[np.float32]":
        """Return the same, such that they travel by the names of their files."""
        referred = self._encodings.referred(self._order[start:stop])
        return self(start, stop) if referred is None else referred


@dataclass(frozen=True, eq=False)
class Reading:
    """How the rows of a log are read: as they are, or in another order, in which their numbers differ."""

    read: "Callable[[int, int], Any]"
    order: Rows | None = None  # the rows of the log, in the order of reading

    def numbers(self, rows: Rows) -> Rows:
        """Return what rows of the log are called in the order of reading."""
        if self.order is None:
            return rows
        where = np.empty(len(self.order), np.int64)
        where[self.order] = np.arange(len(self.order))
        return where[rows]

    def in_order(self, values: Rows) -> Rows:
        """Return numbers, one for every row, in the order of reading."""
        return values if self.order is None else values[self.order]

    def rows(self, numbers: Rows) -> Rows:
        """Return the rows of the log that numbers stand for."""
        return numbers if self.order is None else self.order[numbers]


def reading(vectors: Any, places: Rows, read: "Callable[[int, int], Any]", executor: Executor | None) -> Reading:
    """Return how the rows of a log are read by the workers of an executor; by ``read`` where they cannot do it.

    ``vectors`` are those of the attackers' log, ``places`` where our rows stand in it. Workers get the rows in the
    order of the files: one then reads few of them, each from its beginning to its end.
    """
    encodings = shared_encodings(vectors)
    if encodings is None or executor is None or executor.in_process:
        return Reading(read)
    order = np.argsort(encodings.rows[places], kind="stable")
    return Reading(SharedRows(encodings, places[order]), order)
