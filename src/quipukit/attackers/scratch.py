"""Room for a number per row of a log, and more: in memory, or in a file where a log is long.

A log of ten million queries has 15 GB of sums of word vectors. In a file they are read where they are used, and the
system keeps in memory what there is room for. Small arrays of a long log go there too: an attacker has many of them.
The file has no name, so that nothing is left of it when the process ends, however it ends.
"""

import math
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from quipukit.errors import ResourceError
from quipukit.storage import cache_home, make_folder

_IN_MEMORY = 1_000_000_000  # bytes
_LONG = 500_000  # rows


def is_long(rows: int) -> bool:
    """Return whether a log is so long that what is kept for each of its rows should not stay in memory."""
    return rows > _LONG


def room(shape: tuple[int, ...], kind: DTypeLike = np.float32) -> "NDArray[Any]":
    """Return an array, of single precision unless another kind is given, whose content is yet to be written."""
    size = np.dtype(kind).itemsize * math.prod(shape)
    if size <= _IN_MEMORY and not is_long(shape[0]):
        return np.empty(shape, kind)
    folder = cache_home()
    make_folder(folder)
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            # Now: where the disk is full, a process that writes to memory that has no place on it is killed.
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as fault:
            raise ResourceError(
                f"{size / 1e9:.1f} GB for a log of {shape[0]:,} queries do not fit into {folder} ({fault.strerror}); "
                "make room, set QUIPUKIT_HOME to a larger disk, or sample the log."
            ) from None
        return np.memmap(file, kind, "r+", shape=shape)
