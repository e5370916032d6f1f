"""Memory for a number per row of a long log, used again as soon as nothing refers to it.

The C library returns every large array to the operating system when it is freed. The next one comes back page by page,
each filled with zeros first: with five million rows that is a fifth of the time in which attackers rank a log.
"""

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quipukit.attackers.tokens import LogTokens

# Bytes. Smaller arrays stay with the C library, which uses their memory again by itself (glibc, up to 32 MB).
_LARGE = 32 * 2**20


class Buffers:
    """Arrays for one log, shared by all attackers that know it."""

    @classmethod
    def of(cls, tokens: LogTokens) -> "Buffers":
        """Return those of a log."""
        return tokens.derived("buffers", cls)

    def __init__(self) -> None:
        """Begin without any."""
        self._unused: dict[int, list[_Memory]] = {}

    def empty(self, shape: tuple[int, ...], kind: DTypeLike = np.float64) -> "NDArray[Any]":
        """Return an array whose content is yet to be written; any thread may ask."""
        size = np.dtype(kind).itemsize * math.prod(shape)
        if size < _LARGE:
            return np.empty(shape, kind)
        unused = self._unused.setdefault(size, [])
        try:
            memory = unused.pop()
        except IndexError:
            memory = np.empty(size, np.uint8).view(_Memory)
        # The loan dies with the last view of it. It has a type of its own, and so has the memory: NumPy makes a view of
        # a view refer to the first array of the chain if all are of one type, and the loan would die at once.
        loan = memory.view(_Loan)
        weakref.finalize(loan, unused.append, memory).atexit = False
        return np.asarray(loan).view(kind).reshape(shape)

    def release(self) -> None:
        """Free what is not used now; what is, is freed when nothing refers to it."""
        self._unused.clear()


class _Memory(np.ndarray):
    """Bytes that are kept."""


class _Loan(_Memory):
    """The same bytes, while something refers to them."""
