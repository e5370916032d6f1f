"""numba, with a place for what it has compiled.

It keeps that beside our source, or in the user's cache folder. Where neither can be written (an installed package in a
container with a read-only home) it would refuse to compile at all; there it gets a folder in our own cache.
"""

from typing import TypeVar

import numba
import numpy as np

from quipukit.storage import cache_home

__all__ = ["fixed", "numba"]

Array = TypeVar("Array", bound="np.ndarray")


def fixed(array: Array) -> Array:
    """Return a view that cannot be written.

    What a kernel reads comes from memory maps and from arrays of one's own. To numba these are different types, and
    each would be compiled; that takes seconds.
    """
    view = np.asarray(array)[...]
    view.flags.writeable = False
    return view  # type: ignore[return-value]


def _anything() -> None:
    """Be compiled, to see whether that can be kept."""


try:
    numba.njit(cache=True)(_anything)
except RuntimeError:  # "no locator available"
    numba.config.CACHE_DIR = str(cache_home() / "numba")  # type: ignore[attr-defined]
