"""Room for a number per row of a log, and more: in memory, or in a file where a log is long.

A log of ten million queries has 15 GB of sums of word vectors. In a file they are read where they are used, and the
system keeps in memory what there is room for. Small arrays of a long log go there too: an attacker has many of them.
The file has no name, so that nothing is left of it when the process ends, however it ends.
"""

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quipukit.errors import ResourceError
from quipukit.storage import cache_home, make_folder

_IN_MEMORY = 1_000_000_000  # bytes
LONG = 500_000  # rows


def is_long(rows: int) -> bool:
    """Return whether a log is so long that what is kept for each of its rows should not stay in memory."""
    return rows > LONG


def room(shape: tuple[int, ...], kind: DTypeLike = np.float32, rows: int | None = None) -> "NDArray[Any]":
    """Return an array, of single precision unless another kind is given, whose content is yet to be written.

    ``rows`` is the length of the log, where the array has another.
    """
    size = np.dtype(kind).itemsize * math.prod(shape)
    rows = shape[0] if rows is None else rows
    if not size or (size <= _IN_MEMORY and not is_long(rows)):
        return np.empty(shape, kind)
    with _nameless(rows, size) as file:
        # Now: where the disk is full, a process that writes to memory that has no place on it is killed.
        os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, kind, "r+", shape=shape)


def stored(array: "NDArray[Any]", rows: int | None = None) -> "NDArray[Any]":
    """Return an array as it is, or where a log is long a copy of it in a file."""
    if not is_long(len(array) if rows is None else rows):
        return array
    copy = room(array.shape, array.dtype, rows)
    copy[...] = array
    return copy


def gathered(parts: Iterable[bytes], kind: DTypeLike, rows: int) -> "NDArray[Any]":
    """Return the bytes of an array whose length is not known beforehand as an array, in a file."""
    size = 0
    with _nameless(rows) as file:
        for part in parts:
            size += file.write(part)
        file.flush()
        return np.memmap(file, kind, "r+", shape=(size // np.dtype(kind).itemsize,)) if size else np.empty(0, kind)


@contextlib.contextmanager
def _nameless(rows: int, size: int = 0) -> "Iterator[IO[bytes]]":
    folder = cache_home()
    make_folder(folder)
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            yield file
        except OSError as fault:
            raise ResourceError(
                f"{max(size, file.tell()) / 1e9:.1f} GB for a log of {rows:,} queries do not fit into {folder} "
                f"({fault.strerror}); make room, set QUIPUKIT_HOME to a larger disk, or sample the log."
            ) from None
