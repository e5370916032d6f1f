"""A BM25 index on disk, memory-mapped: exact, and small enough to search millions of passages on one machine.

A posting is the number of a document and a code for two things: how often the document has the term, and how long the
document is. A collection of passages has a few thousand such pairs, so a code takes two bytes where the summand takes
eight; what it stands for is the summand of `SmallIndex`, to the last bit. Documents are numbered in the order of
their docnos: the lower number wins a tie.
"""

import functools
import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.files import SMALL, open_folder
from quipukit.bm25.formula import summands
from quipukit.bm25.strings import StringTable

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

# Up to this many postings, all summands are computed once: eight bytes each, and searches are faster by a quarter.
EXPANDED = 16_000_000


@dataclass(frozen=True, eq=False)
class MappedIndex:
    """For every term, the documents that hold it and what it adds to their scores (`SmallIndex` has the formula)."""

    docnos: StringTable
    terms: StringTable
    # The postings by term, then by document.
    starts: Rows
    documents: NDArray[np.int32]
    codes: NDArray[Any]
    # By term, and by code.
    idf: Floats
    frequencies: Floats
    norms: Floats
    expanded: bool = False

    @classmethod
    def open(cls, folder: Path, small: int = SMALL, expanded: int = EXPANDED) -> "MappedIndex | None":
        """Map an index; None where it is not there, or not what was written (see `quipukit.bm25.files`).

        With at most ``expanded`` postings the summands are computed once, and kept in memory.
        """
        arrays = open_folder(folder, small)
        if arrays is None:
            return None
        few = len(arrays["documents"]) <= expanded
        return cls(_table(arrays, "docnos"), _table(arrays, "terms"), **arrays, expanded=few)

    def __len__(self) -> int:
        return len(self.docnos)

    def hash(self) -> str:
        """Return a hash over everything."""
        total = hashlib.sha256()
        values = [getattr(self, field.name) for field in fields(self) if field.name != "expanded"]
        for value in values:
            for array in (value.content, value.starts) if isinstance(value, StringTable) else (value,):
                total.update(f"{array.dtype} {len(array)} ".encode())
                total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()

    def top(self, rows: Rows, starts: Rows, found: NDArray[np.int32], scores: Floats) -> None:
        """Find the best documents of queries; query i has the terms ``rows[starts[i]:starts[i + 1]]``.

        ``found`` has a row for every query, filled with -1, and receives the numbers of documents, best first;
        ``scores`` receives their scores.
        """
        from quipukit.bm25 import kernels
        from quipukit.jit import fixed

        postings = fixed(self.starts), fixed(self.documents)
        if self.expanded:
            kernels.top(rows, starts, *postings, self._impacts, len(self), found, scores)
        else:
            coded = (self.codes, self.idf, self.frequencies, self.norms)
            kernels.top_coded(rows, starts, *postings, *coded, len(self), found, scores)

    def scores(self, rows: Rows, documents: NDArray[np.int32]) -> Floats:
        """Return the scores of some documents, by their numbers, for a query given as rows of terms."""
        total = np.zeros(len(documents))
        for row in rows.tolist():
            start, end = int(self.starts[row]), int(self.starts[row + 1])
            own = self.documents[start:end]
            at = np.searchsorted(own, documents)
            at[at == len(own)] = 0
            hit = own[at] == documents
            if self.expanded:
                total[hit] += self._impacts[start:end][at[hit]]
            else:
                codes = self.codes[start:end][at[hit]]
                total[hit] += summands(self.idf[row], self.frequencies[codes], self.norms[codes])
        return total

    @functools.cached_property
    def _impacts(self) -> Floats:
        weights = np.repeat(self.idf, np.diff(self.starts))
        return summands(weights, self.frequencies[self.codes], self.norms[self.codes])


def _table(arrays: "dict[str, NDArray[Any]]", name: str) -> StringTable:
    return StringTable(arrays.pop(f"{name}_content"), arrays.pop(f"{name}_starts"))
