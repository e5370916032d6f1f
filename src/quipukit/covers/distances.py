"""Euclidean distances of encodings: exact for one query, and, for many, sums of exponentials over a whole pool.

Distances to one point are sums of squared differences in float64, in an order that no thread changes. For all pairs of
a log and a pool that would take hours; there, single precision and a histogram of 8,192 bins for each query are
enough. What they cost is known: see `log_normalizers`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.jit import numba
from quipukit.progress import Progress
from quipukit.threads import in_threads

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

FARTHEST = 2.001  # unit vectors are at most 2 apart, before rounding
BINS = 8192
NEAR = 1e-3  # squared distances below this lose too much in single precision, and are computed again
ROUNDING = 2e-5  # of a distance in single precision, from there on: 5e-7 in the square, 3e-2 the root
_ROWS = 16_384  # rows at a time for one point
_QUERIES, _POOL = 256, 4096  # pairs at a time


def unit_rows(vectors: NDArray[Any]) -> Singles:
    """Return vectors at length 1; those of length 0 stay as they are."""
    rows = np.ascontiguousarray(vectors, np.float32)
    lengths = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), np.float32)


def distances(rows: Singles, point: Singles) -> Floats:
    """Return the distance of every row to a point, in float64; 0 for an equal row.

    >>> distances(np.eye(2, dtype=np.float32), np.array([1, 0], np.float32)).round(4).tolist()
    [0.0, 1.4142]
    """
    found = np.empty(len(rows))
    starts = range(0, len(rows), _ROWS)
    in_threads(lambda start: _one_point(rows[start : start + _ROWS], point, found[start : start + _ROWS]), starts)
    return found


def between(points: Singles, rows: Singles) -> Floats:
    """Return the distances of points (few columns) to rows, a line for each row; accurate to `ROUNDING`, 0 if equal."""
    squares = _right(rows) @ _left(points).T
    _repaired(squares, rows, points)
    return np.sqrt(squares.astype(np.float64))


def error_bound(epsilon: float) -> float:
    """Return by how much a value of `log_normalizers` may be off: half a bin, and rounding, in each distance.

    >>> error_bound(20) < 0.0016
    True
    """
    return epsilon / 2 * (FARTHEST / BINS / 2 + ROUNDING)


def log_normalizers(
    points: Singles, rows: Singles, epsilons: "list[float]", progress: Progress | None = None
) -> Floats:
    """Return ln Z = ln of the sum over rows of exp(-epsilon d / 2), a line for every point, a column for each epsilon.

    One pass over all pairs serves all epsilons: distances are counted in bins. Close ones are exact, so that a query of
    the pool weighs itself with 1. The error of ln Z is at most `error_bound`: 0.0014 at epsilon 20.
    """
    rates = np.asarray(epsilons, np.float64) / 2
    logs = np.empty((len(points), len(rates)))
    right = _right(rows)
    done = 0

    def block(start: int) -> None:
        nonlocal done
        mine = points[start : start + _QUERIES]
        left = _left(mine)
        counts = np.zeros((len(mine), BINS), np.uint32)
        nearest = np.full(len(mine), np.inf)
        close = np.zeros((len(mine), len(rates)))
        for first in range(0, len(rows), _POOL):
            squares = left @ right[first : first + _POOL].T
            _count(squares, mine, rows[first : first + _POOL], rates, counts, nearest, close)
        _summed(counts, nearest, close, rates, logs[start : start + _QUERIES])
        done += len(mine)
        if progress:
            progress(min(done, len(points)), len(points))

    in_threads(block, range(0, len(points), _QUERIES))
    return logs


def _left(points: Singles) -> Singles:
    """Return points in the form whose product with `_right` is the squared distance: one pass, not four."""
    squares, ones = _lengths(points), np.ones((len(points), 1), np.float32)
    return np.concatenate([np.float32(-2) * points, squares, ones], axis=1)


def _right(rows: Singles) -> Singles:
    return np.concatenate([rows, np.ones((len(rows), 1), np.float32), _lengths(rows)], axis=1)


def _lengths(rows: Singles) -> Singles:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float32)[:, None]


@numba.njit(cache=True, nogil=True)
def _squared(one: Any, other: Any) -> float:
    a = b = c = d = 0.0
    size = len(one) - len(one) % 4
    for place in range(0, size, 4):
        p = np.float64(one[place]) - np.float64(other[place])
        q = np.float64(one[place + 1]) - np.float64(other[place + 1])
        r = np.float64(one[place + 2]) - np.float64(other[place + 2])
        s = np.float64(one[place + 3]) - np.float64(other[place + 3])
        a += p * p
        b += q * q
        c += r * r
        d += s * s
    for place in range(size, len(one)):
        p = np.float64(one[place]) - np.float64(other[place])
        a += p * p
    return (a + b) + (c + d)


@numba.njit(cache=True, nogil=True)
def _one_point(rows: Any, point: Any, found: Any) -> None:
    for row in range(len(rows)):
        found[row] = np.sqrt(_squared(rows[row], point))


@numba.njit(cache=True, nogil=True)
def _repaired(squares: Any, rows: Any, points: Any) -> None:
    for row in range(squares.shape[0]):
        for column in range(squares.shape[1]):
            if squares[row, column] < NEAR:
                squares[row, column] = _squared(rows[row], points[column])


@numba.njit(cache=True, nogil=True)
def _count(squares: Any, points: Any, rows: Any, rates: Any, counts: Any, nearest: Any, close: Any) -> None:
    scale = np.float32(BINS / FARTHEST)
    for query in range(squares.shape[0]):
        for row in range(squares.shape[1]):
            square = squares[query, row]
            if square >= NEAR:
                counts[query, min(int(np.sqrt(square) * scale), BINS - 1)] += 1
                continue
            distance = np.sqrt(_squared(points[query], rows[row]))
            if distance < nearest[query]:  # sums are relative to the nearest: they never underflow
                if np.isfinite(nearest[query]):
                    close[query] *= np.exp(-rates * (nearest[query] - distance))
                nearest[query] = distance
            close[query] += np.exp(-rates * (distance - nearest[query]))


@numba.njit(cache=True, nogil=True)
def _summed(counts: Any, nearest: Any, close: Any, rates: Any, logs: Any) -> None:
    width = FARTHEST / BINS
    steps = np.exp(-rates * width)
    for query in range(counts.shape[0]):
        first = 0
        while first < BINS and counts[query, first] == 0:
            first += 1
        middle = (first + 0.5) * width
        base = min(nearest[query], middle) if first < BINS else nearest[query]
        sums = np.zeros(len(rates))
        if np.isfinite(nearest[query]):
            sums += close[query] * np.exp(-rates * (nearest[query] - base))
        weights = np.exp(-rates * (middle - base))
        for place in range(first, BINS):
            number = np.float64(counts[query, place])
            for rate in range(len(rates)):
                sums[rate] += number * weights[rate]
                weights[rate] *= steps[rate]
        logs[query] = np.log(sums) - rates * base
