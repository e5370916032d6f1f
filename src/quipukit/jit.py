"""numba, with a place for what it has compiled.

It keeps that beside our source, or in the user's cache folder. Where neither can be written (an installed package in a
container with a read-only home) it would refuse to compile at all; there it gets a folder in our own cache.
"""

import numba

from quipukit.storage import cache_home

__all__ = ["numba"]


def _anything() -> None:
    """Be compiled, to see whether that can be kept."""


try:
    numba.njit(cache=True)(_anything)
except RuntimeError:  # "no locator available"
    numba.config.CACHE_DIR = str(cache_home() / "numba")  # type: ignore[attr-defined]
