"""Encodings: the vectors of some texts, in memory or on disk, as one sequence of rows."""

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.segments import SegmentRows

Rows = NDArray[np.int64]
Vectors = NDArray[np.floating]

PRIVATE = 1 << 40  # where the numbers of private rows begin: more than any file has


class Encodings:
    """The vectors of some texts, read from disk where they are used.

    ``encodings[3:5]`` and ``encodings[[7, 1]]`` are float32 arrays; nothing else is loaded.
    """

    def __init__(
        self, matrix: "Vectors | SegmentRows", rows: Rows, private: "Vectors | SegmentRows | None" = None
    ) -> None:
        """Keep the mapped matrix, and the row of every text in it; from ``PRIVATE`` on, rows are of the second one."""
        # A mapped one, as any other: what is read from it must not show the file.
        self._matrix = matrix if isinstance(matrix, SegmentRows) else np.asarray(matrix)
        self._private = private
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of texts and of coordinates."""
        return len(self.rows), int(self._matrix.shape[1])

    def __getitem__(self, where: Any) -> NDArray[np.float32]:
        rows = np.asarray(self.rows[where])
        own = rows >= PRIVATE
        if self._private is None or not own.any():
            return np.asarray(self._matrix[rows], np.float32)
        vectors = np.empty((*rows.shape, self.shape[1]), np.float32)
        vectors[own] = self._private[rows[own] - PRIVATE]
        vectors[~own] = self._matrix[rows[~own]]
        return vectors

    def blocks(self, size: int = 8192) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
        """Iterate over (positions of texts, their vectors) in the order of the disk, in blocks of one size."""
        order = np.argsort(self.rows, kind="stable")
        for start in range(0, len(order), size):
            part = order[start : start + size]
            yield part, self[part]

    def chosen(self, where: Any) -> "Encodings":
        """Return a view on the vectors of some texts."""
        return Encodings(self._matrix, np.asarray(self.rows[where]), self._private)

    def referred(self, where: Any) -> "Encodings | None":
        """Return the vectors of some texts such that they travel by the names of shared files; None without any.

        What does not lie in a shared folder travels itself.
        """
        rows = np.asarray(self.rows[where])
        if not isinstance(self._matrix, SegmentRows):
            return None
        own = rows >= PRIVATE
        matrix, places = self._matrix.parts(rows[~own])
        named = np.empty(len(rows), np.int64)
        named[~own] = places
        if self._private is None or not own.any():
            return Encodings(matrix, named)
        if isinstance(self._private, SegmentRows):
            private, places = self._private.parts(rows[own] - PRIVATE)
            named[own] = PRIVATE + places
            return Encodings(matrix, named, private)
        named[own] = PRIVATE + np.arange(np.count_nonzero(own))
        return Encodings(matrix, named, np.ascontiguousarray(self._private[rows[own] - PRIVATE]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:].astype(dtype or np.float32, copy=False)


class PlainEncodings(Encodings):
    """The same vectors, read in the same way, without showing in which matrix a row lies.

    Rows of the public matrix are those of the log as everybody has it: whoever can tell them from the others knows
    which queries were added to it.
    """

    def __init__(self, encodings: Encodings) -> None:
        """Stand before encodings, which no attribute leads to."""

        def read(where: Any) -> NDArray[np.float32]:
            return encodings[where]

        self._read = read
        self._shape = encodings.shape
        self.rows = np.arange(len(encodings))
        _behind[self] = encodings

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of texts and of coordinates."""
        return self._shape

    def __getitem__(self, where: Any) -> NDArray[np.float32]:
        return self._read(where)


_behind: "weakref.WeakKeyDictionary[PlainEncodings, Encodings]" = weakref.WeakKeyDictionary()


def shared_encodings(vectors: Any) -> Encodings | None:
    """Return the encodings in a shared folder that vectors of a log are read from, for the harness; None without."""
    encodings = _behind.get(vectors) if isinstance(vectors, PlainEncodings) else vectors
    shared = isinstance(encodings, Encodings) and isinstance(encodings._matrix, SegmentRows)
    return encodings if shared else None
