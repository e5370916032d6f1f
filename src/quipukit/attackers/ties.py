"""Which scores are equal, where an attacker gives scores on a scale of its own.

Sums of the same numbers in another order differ in their last bits, and must tie. Log-likelihoods of -10,000 and
probabilities of 1e-15 must not: no absolute number is small on every scale.
"""

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Floats
from quipukit.attackers.ranks import EQUAL
from quipukit.jit import numba


def tolerance(scores: Floats, own: float) -> float:
    """Return by how much a score may differ from ``own``, one of the scores for a query, and still be equal to it.

    It is relative to ``own``: sums of numbers of one sign are exact to a few of their last bits, whatever their size.
    Where scores have both signs, what is left of a sum that cancels is as large as the last bits of its parts. Then
    they are equal up to the same share of the largest score too, or of 1 where that is less: one row with a huge
    penalty must not make all others equal.

    >>> tolerance(np.array([0.9, 2e-15, 1e-15]), 1e-15) < 1e-15
    True
    """
    return _tolerance(extremes(scores), own)


def _tolerance(limits: tuple[float, float], own: float) -> float:
    low, high = limits
    return EQUAL * max(abs(own), min(1.0, max(-low, high)) if low < 0 < high else 0.0)


def count(scores: Floats, place: int, limits: tuple[float, float] | None = None) -> tuple[int, int]:
    """Return how many scores are higher than the one at a place, and how many others are equal to it.

    ``limits`` are the lowest and the highest score, where they are known.

    >>> count(np.array([0.3, 0.1 + 0.2, 0.5, 0.1]), 0)
    (1, 1)
    """
    own = float(scores[place])
    better, level = _counted(scores, own, _tolerance(limits or extremes(scores), own))
    return int(better), int(level) - 1


def extremes(scores: Floats) -> tuple[float, float]:
    """Return the lowest and the highest score; infinite or not a number where any score is."""
    low, high = _extremes(np.ascontiguousarray(scores, np.float64))
    return float(low), float(high)


def best(
    scores: Floats, turns: NDArray[np.int64], top: int, limits: tuple[float, float] | None = None
) -> NDArray[np.int64]:
    """Return the places of the ``top`` highest scores; of equal ones those first whose turn is earlier.

    ``limits`` are the lowest and the highest score, where they are known.

    >>> best(np.array([0.1, 0.1 + 0.2, 0.3, 0.2]), np.array([0, 3, 2, 1]), 3).tolist()
    [2, 1, 3]
    """
    limits, some = limits or extremes(scores), np.arange(len(scores))
    if top < len(scores):
        last = limits[1] if top == 1 else float(np.partition(scores, len(scores) - top)[len(scores) - top])
        some = np.flatnonzero(scores >= last - 4 * _tolerance(limits, last))
    chosen: NDArray[np.int64] = some[np.lexsort((turns[some], -_rounded(scores[some], limits)))[:top]]
    return chosen


def _rounded(scores: Floats, limits: tuple[float, float]) -> Floats:
    """Return scores without the digits in which equal ones may differ; ``limits`` are those of all for the query."""
    mantissas, exponents = np.frexp(scores)
    values = np.ldexp(np.round(mantissas, _DIGITS), exponents)
    return np.where(np.abs(scores) <= _tolerance(limits, 0.0), 0.0, values)


_DIGITS = round(-np.log10(EQUAL))


@numba.njit(nogil=True, cache=True)
def _extremes(scores):  # type: ignore[no-untyped-def]
    low, high, seen = 0.0, 0.0, 0.0
    if scores.shape[0]:
        low = high = scores[0]
    for i in range(scores.shape[0]):
        seen += scores[i] - scores[i]  # 0, unless it is infinite or not a number
        low, high = min(low, scores[i]), max(high, scores[i])
    return low + seen, high + seen


@numba.njit(nogil=True, cache=True)
def _counted(scores, own, equal):  # type: ignore[no-untyped-def]
    # A bar at the largest number plus its tolerance is infinite: nothing is higher, as it should be.
    better, level = 0, 0
    for i in range(scores.shape[0]):
        better += scores[i] > own + equal
        level += abs(scores[i] - own) <= equal
    return better, level
