"""Memory for a number per row of a log, used again as soon as nobody holds what was written there.

The system clears every page that it gives, and takes large arrays back when they are dropped. With millions of rows
that is a third of the time in which attackers score a set of texts.
"""

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quipukit.attackers.tokens import LogTokens


class Buffers:
    """Arrays for one log, shared by all attackers that know it; they are freed with the log."""

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
        unused = self._unused.setdefault(size, [])
        try:
            memory = unused.pop()
        except IndexError:
            memory = np.empty(size, np.uint8).view(_Memory)
        # It dies with the last view of the array. All of one type, NumPy would have that view keep the memory alone.
        lent = memory.view(_Memory)
        weakref.finalize(lent, unused.append, memory).atexit = False
        return np.asarray(lent).view(kind).reshape(shape)


class _Memory(np.ndarray):
    """Bytes, and what holds them for somebody."""
