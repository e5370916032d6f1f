"""The rank of a target in a log, by counting: one pass over the log for all centroids, and no sorting.

A float32 product gives every similarity to within a proved bound (`vectors.nearest.error_bound`). What lies outside
the bound around the target's similarity is counted at once; the few entries inside it are computed again in float64.
Counts are therefore those of a float64 computation, whatever the blocks, the threads or the order of the log.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.jit import numba
from quipukit.numeric import error_bound
from quipukit.threads import in_threads
from quipukit.vectors.nearest import BLOCK, TILE

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]

# Similarities that differ by no more than this in float64 are equal: the encoder's own last bits are larger.
EQUAL = 1e-12

_STRIP = 128
_SLAB = 4096  # rows of the log that a thread works on at a time

_FAST = {"nnan", "nsz", "contract", "reassoc"}


@dataclass(frozen=True)
class Counts:
    """For every centroid: how many other entries are more similar than its target, and how many equally."""

    better: Rows
    tied: Rows
    similarity: Floats


def count_better(
    centroids: Floats,
    targets: Rows,
    log_rows: Callable[[int, int], Singles],
    size: int,
    target_vectors: Floats,
    progress: Callable[[float, float], None] | None = None,
) -> Counts:
    """Count, for each centroid c, the entries q of a log with cos(c, q) above, and equal to, that of its target.

    ``log_rows(start, stop)`` gives rows of the log; ``targets`` are the rows of the targets (-1: not in the log, then
    every entry is another one) and ``target_vectors`` their vectors. A vector of norm 0 has similarity 0 to everything.
    """
    centers, goals = _unit(centroids), _unit(target_vectors)
    similarity = np.einsum("ij,ij->i", centers, goals)
    slack = 2 * error_bound(centers.shape[1])
    low, high = (similarity - slack).astype(np.float32), (similarity + slack).astype(np.float32)
    singles = centers.astype(np.float32)
    better, tied = np.zeros(len(centers), np.int64), np.zeros(len(centers), np.int64)
    lock = threading.Lock()
    done = 0

    def count(start: int) -> None:
        nonlocal done
        slab = _unit(log_rows(start, min(start + _SLAB, size)))
        single_slab = slab.astype(np.float32)
        above, level = np.zeros_like(better), np.zeros_like(tied)
        buffer = np.empty(BLOCK * TILE, np.float32)
        for block in range(0, len(centers), BLOCK):
            part = slice(block, min(block + BLOCK, len(centers)))
            limits = (low[part], high[part], similarity[part], centers[part])
            for left in range(0, len(slab), TILE):
                tile = single_slab[left : left + TILE]
                scores = buffer[: (part.stop - block) * len(tile)].reshape(-1, len(tile))
                np.matmul(singles[part], tile.T, out=scores)
                own = targets[part] - (start + left)
                _count(scores, *limits, slab[left : left + TILE], own, above[part], level[part])
        with lock:  # counts are whole numbers: the order in which threads add them does not matter
            np.add(better, above, out=better)
            np.add(tied, level, out=tied)
            done += len(slab)
            if progress:
                progress(done, size)

    in_threads(count, range(0, size, _SLAB))
    return Counts(better, tied, similarity)


def _unit(vectors: NDArray[np.floating]) -> Floats:
    rows = np.asarray(vectors, np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def _above(scores, bar):  # type: ignore[no-untyped-def]
    count = 0
    for j in range(scores.shape[0]):
        count += scores[j] > bar
    return count


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def _product(one, other):  # type: ignore[no-untyped-def]
    # In any order of the sum, hence vectorized: it differs by far less than EQUAL, and where a whole log is tied every
    # entry comes here.
    total = 0.0
    for k in range(one.shape[0]):
        total += one[k] * other[k]
    return total


@numba.njit(nogil=True, cache=True)
def _count(scores, low, high, similarity, centers, log, own, better, tied):  # type: ignore[no-untyped-def]
    for i in range(scores.shape[0]):
        for left in range(0, scores.shape[1], _STRIP):
            strip = scores[i, left : left + _STRIP]
            surely, perhaps = _above(strip, high[i]), _above(strip, low[i])
            better[i] += surely
            if surely == perhaps and not left <= own[i] < left + _STRIP:
                continue
            for j in range(strip.shape[0]):
                if left + j == own[i]:
                    # The target itself is no other entry; undo what the count above saw of it.
                    better[i] -= strip[j] > high[i]
                elif low[i] < strip[j] <= high[i]:
                    exact = _product(centers[i], log[left + j])
                    if exact > similarity[i] + EQUAL:
                        better[i] += 1
                    elif exact >= similarity[i] - EQUAL:
                        tied[i] += 1


def best_rows(centroids: Floats, log_rows: Callable[[int, int], Singles], size: int, top: int) -> tuple[Rows, Floats]:
    """Return the ``top`` rows of the log that are most similar to each centroid, best first; ties to the lower row."""
    centers = _unit(centroids)
    rows, scores = np.empty((len(centers), 0), np.int64), np.empty((len(centers), 0))
    for start in range(0, size, _SLAB):
        slab = _unit(log_rows(start, min(start + _SLAB, size)))
        numbers = np.broadcast_to(np.arange(start, start + len(slab)), (len(centers), len(slab)))
        scores = np.concatenate([scores, centers @ slab.T], axis=1)
        rows = np.concatenate([rows, numbers], axis=1)
        # Rounding apart, equal similarities are ties, and ties go by row.
        order = np.lexsort((rows, -np.round(scores, 12)), axis=1)[:, :top]
        rows, scores = np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)
    for number, center in enumerate(centers):
        # The last bits of a product depend on its shape. One row at a time: the same whoever is guessed beside.
        found = [_unit(log_rows(row, row + 1))[0] for row in rows[number].tolist()]
        scores[number] = [float((center * vector).sum()) for vector in found]
    return rows, scores
