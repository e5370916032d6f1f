"""Which scores are equal, where an attacker gives scores on a scale of its own.

Sums of the same numbers in another order differ in their last bits, and must tie. Log-likelihoods of -10,000 and
probabilities of 1e-15 must not: no absolute number is small on every scale.
"""

import weakref

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Floats
from quipukit.attackers.ranks import EQUAL
from quipukit.jit import fixed, numba


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
    better, level = _counted(fixed(scores), own, _tolerance(limits or extremes(scores), own))
    return int(better), int(level) - 1


def count_and_best(
    scores: Floats, place: int, turns: NDArray[np.int64], limits: tuple[float, float]
) -> tuple[int, int, int]:
    """Return what `count` returns, and the first of `best`: in one pass over a long log.

    >>> count_and_best(np.array([0.1, 0.1 + 0.2, 0.3, 0.2]), 3, np.array([0, 3, 2, 1]), (0.1, 0.3))
    (2, 0, 2)
    """
    own, high = float(scores[place]), limits[1]
    bar = high - 4 * _tolerance(limits, high)
    some = np.empty(_FEW, np.int64)
    better, level, reached = _counted_with_best(fixed(scores), own, _tolerance(limits, own), bar, some)
    some = some[:reached] if reached <= _FEW else np.flatnonzero(scores >= bar)
    first = some[np.lexsort((turns[some], -_rounded(scores[some], limits)))[0]]
    return int(better), int(level) - 1, int(first)


def will_not_change(scores: Floats) -> None:
    """Promise that scores stay as they are: their extremes are then looked for once."""
    number = id(scores)
    _PROMISED[number] = weakref.ref(scores, lambda _: _PROMISED.pop(number, None)), []


# By the number of the array, which may be another's once it is gone.
_PROMISED: "dict[int, tuple[weakref.ref[Floats], list[tuple[float, float]]]]" = {}


def extremes(scores: Floats) -> tuple[float, float]:
    """Return the lowest and the highest score; infinite or not a number where any score is."""
    reference, known = _PROMISED.get(id(scores), (None, []))
    if reference is None or reference() is not scores:
        return _found_extremes(scores)
    if not known:
        known.append(_found_extremes(scores))
    return known[0]


def _found_extremes(scores: Floats) -> tuple[float, float]:
    low, high = _extremes(fixed(np.ascontiguousarray(scores, np.float64)))
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
        last = limits[1] if top == 1 else _nth_highest(scores, top)
        some = np.flatnonzero(scores >= last - 4 * _tolerance(limits, last))
    chosen: NDArray[np.int64] = some[np.lexsort((turns[some], -_rounded(scores[some], limits)))[:top]]
    return chosen


def _nth_highest(scores: Floats, top: int) -> float:
    """Return the ``top``-th highest score."""
    if top > _MOST_INSERTED:
        return float(np.partition(scores, len(scores) - top)[len(scores) - top])
    return float(_highest(fixed(scores), top)[0])


def _rounded(scores: Floats, limits: tuple[float, float]) -> Floats:
    """Return scores without the digits in which equal ones may differ; ``limits`` are those of all for the query."""
    mantissas, exponents = np.frexp(scores)
    values = np.ldexp(np.round(mantissas, _DIGITS), exponents)
    return np.where(np.abs(scores) <= _tolerance(limits, 0.0), 0.0, values)


_DIGITS = round(-np.log10(EQUAL))
_STRIP = 256
_FEW = 4096
_MOST_INSERTED = 32  # of the highest scores, one by one; more are found by a partition of all


@numba.njit(nogil=True, cache=True)
def _extremes(scores):  # type: ignore[no-untyped-def]
    # Four at a time: each has its own last result to wait for.
    size = scores.shape[0]
    if not size:
        return 0.0, 0.0
    low, high, seen = np.empty(4), np.empty(4), np.empty(4)
    for k in range(4):
        low[k], high[k], seen[k] = scores[0], scores[0], 0.0
    whole = size - size % 4
    for i in range(0, whole, 4):
        for k in range(4):
            score = scores[i + k]
            seen[k] += score - score  # 0, unless it is infinite or not a number
            low[k], high[k] = min(low[k], score), max(high[k], score)
    for i in range(whole, size):
        seen[0] += scores[i] - scores[i]
        low[0], high[0] = min(low[0], scores[i]), max(high[0], scores[i])
    for k in range(1, 4):  # by hand: the methods of arrays take a second to compile
        seen[0] += seen[k]
        low[0], high[0] = min(low[0], low[k]), max(high[0], high[k])
    return low[0] + seen[0], high[0] + seen[0]


@numba.njit(nogil=True, cache=True)
def _counted(scores, own, equal):  # type: ignore[no-untyped-def]
    # A bar at the largest number plus its tolerance is infinite: nothing is higher, as it should be.
    better, level = 0, 0
    for i in range(scores.shape[0]):
        better += scores[i] > own + equal
        level += abs(scores[i] - own) <= equal
    return better, level


@numba.njit(nogil=True, cache=True)
def _counted_with_best(scores, own, equal, bar, best):  # type: ignore[no-untyped-def]
    """Count, and note the places of scores that reach a bar, as far as there is room; return how many there are."""
    better, level, reached = 0, 0, 0
    for start in range(0, scores.shape[0], _STRIP):
        strip = scores[start : start + _STRIP]
        some = 0
        for i in range(strip.shape[0]):
            better += strip[i] > own + equal
            level += abs(strip[i] - own) <= equal
            some += strip[i] >= bar
        if some:
            for i in range(strip.shape[0]):
                if strip[i] >= bar:
                    if reached < best.shape[0]:
                        best[reached] = start + i
                    reached += 1
    return better, level, reached


@numba.njit(nogil=True, cache=True)
def _highest(scores, top):  # type: ignore[no-untyped-def]
    """Return the ``top`` highest scores in rising order."""
    kept = np.full(top, -np.inf)
    for i in range(scores.shape[0]):
        if scores[i] > kept[0]:
            place = 0
            while place + 1 < top and kept[place + 1] < scores[i]:
                kept[place] = kept[place + 1]
                place += 1
            kept[place] = scores[i]
    return kept
