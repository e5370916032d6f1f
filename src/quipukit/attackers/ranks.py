"""The rank of a target in a log, by counting: one pass over the log for all centroids, and no sorting.

A float32 product gives every similarity to within a proved bound (`numeric.error_bound`). What lies outside
the bound around the target's similarity is counted at once; the few entries inside it are computed again in float64.
Counts are therefore those of a float64 computation, for any blocks, threads or order of the log.
"""

import functools
import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.sharedrows import SharedRows
from quipukit.encoders.encodings import Encodings
from quipukit.executors.base import Executor, slices
from quipukit.executors.local import Local
from quipukit.executors.shared import Shared
from quipukit.executors.tally import Tally
from quipukit.jit import numba
from quipukit.numeric import error_bound
from quipukit.progress import Progress
from quipukit.threads import in_threads, workers
from quipukit.vectors.nearest import BLOCK, TILE

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]

# Similarities that differ by no more than this in float64 are equal: the encoder's own last bits are larger.
EQUAL = 1e-12

_STRIP = 128
_SLAB = 4096  # rows of the log that a thread works on at a time
_CENTERS = 128  # that are compared with a slab at a time where the best rows are wanted
_SLABS = 4  # that are read at a time, then
_MOST_BYTES = 8_000_000  # of the log in one part that travels: dask warns from 10 MB on
# Ranking a row of the log costs about 0.02 microseconds per centroid, and sending it to a worker about 15: with fewer
# centroids than this, this process is done before the row has arrived.
FEWEST_TO_SEND = 1000

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
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Counts:
    """Count, for each centroid c, the entries q of a log with cos(c, q) above, and equal to, that of its target.

    ``log_rows(start, stop)`` gives rows of the log; workers read those of `SharedRows` themselves. ``targets`` are the
    rows of the targets (-1: not in the log, then every entry is another one) and ``target_vectors`` their vectors. A
    vector of norm 0 has similarity 0 to everything.
    ``executor`` divides the log where there are many centroids; counts are whole numbers, so that their sum does not
    depend on the division.
    """
    goals = Goals.of(centroids, targets, target_vectors)
    better, tied = np.zeros(len(targets), np.int64), np.zeros(len(targets), np.int64)
    tally = Tally(progress, size)
    done = 0
    fewest = 1 if isinstance(log_rows, SharedRows) else FEWEST_TO_SEND
    with executor if executor is not None and len(targets) >= fewest else Local() as executor:
        spans = slices(size, executor.parts(), *part_size(executor, goals.dimension, log_rows))
        parts = (_Part(goals, LogRows(log_rows, span.start, span.stop), tally) for span in spans)
        for number, (above, level) in executor.map(_count_part, parts):
            better += above
            tied += level
            done += spans[number].stop - spans[number].start
            tally.reach(done)
    return Counts(better, tied, goals.similarity)


def part_size(executor: Executor, dimension: int, read: Callable[[int, int], Any]) -> tuple[int, int | None]:
    """Return how many rows of a log a part has, at least, and at most where their vectors travel."""
    if executor.in_process or isinstance(read, SharedRows):
        return _SLAB, None
    return _SLAB, max(TILE, _MOST_BYTES // (4 * max(1, dimension)))


@dataclass(frozen=True, eq=False)
class Goals(Shared):
    """Centroids of norm 1, the row and the similarity of each one's target, and the bounds around it in float32."""

    kind: ClassVar[str] = "centroids"

    centers: Floats
    targets: Rows
    similarity: Floats
    low: Singles
    high: Singles

    @classmethod
    def of(cls, centroids: Floats, targets: Rows, target_vectors: Floats) -> "Goals":
        """Prepare centroids and targets for counting."""
        centers = _unit(centroids)
        similarity = np.einsum("ij,ij->i", centers, _unit(target_vectors))
        slack = 2 * error_bound(centers.shape[1])
        low, high = (similarity - slack).astype(np.float32), (similarity + slack).astype(np.float32)
        return cls(centers, targets, similarity, low, high)

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return int(self.centers.shape[1])

    @functools.cached_property
    def singles(self) -> Singles:
        """Return the centroids in float32."""
        return self.centers.astype(np.float32)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over everything."""
        total = hashlib.sha256()
        for array in (self.centers, self.targets, self.similarity, self.low, self.high):
            total.update(np.ascontiguousarray(array).data)
        return total.hexdigest()


class LogRows:
    """Some rows of the log, read where they are used; they travel as their vectors, or by the names of their files."""

    def __init__(self, read: Callable[[int, int], Singles], start: int, stop: int) -> None:
        self.read, self.start, self.stop = read, start, stop

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.read, SharedRows):
            return (_sent_rows, (self.read.referred(self.start, self.stop), self.start))
        return (_sent_rows, (np.ascontiguousarray(self.read(self.start, self.stop)), self.start))


def _sent_rows(vectors: "Singles | Encodings", start: int) -> LogRows:
    return LogRows(lambda begin, end: vectors[begin - start : end - start], start, start + len(vectors))


@dataclass(frozen=True, eq=False)
class _Part:
    """A part of the log to count in."""

    goals: Goals
    rows: LogRows
    tally: Tally


def _count_part(part: _Part) -> tuple[Rows, Rows]:
    goals, rows = part.goals, part.rows
    better, tied = np.zeros(len(goals.targets), np.int64), np.zeros(len(goals.targets), np.int64)
    lock = threading.Lock()

    def count(start: int) -> None:
        slab = _unit(rows.read(start, min(start + _SLAB, rows.stop)))
        single_slab = slab.astype(np.float32)
        above, level = np.zeros_like(better), np.zeros_like(tied)
        buffer = np.empty(BLOCK * TILE, np.float32)
        for block in range(0, len(goals.centers), BLOCK):
            span = slice(block, min(block + BLOCK, len(goals.centers)))
            limits = (goals.low[span], goals.high[span], goals.similarity[span], goals.centers[span])
            for left in range(0, len(slab), TILE):
                tile = single_slab[left : left + TILE]
                scores = buffer[: (span.stop - block) * len(tile)].reshape(-1, len(tile))
                np.matmul(goals.singles[span], tile.T, out=scores)
                own = goals.targets[span] - (start + left)
                _count(scores, *limits, slab[left : left + TILE], own, above[span], level[span])
        with lock:  # counts are whole numbers: the order in which threads add them does not matter
            np.add(better, above, out=better)
            np.add(tied, level, out=tied)
        part.tally.add(len(slab))

    in_threads(count, range(rows.start, rows.stop, _SLAB))
    return better, tied


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


def best_rows(centroids: Floats, log_rows: Callable[[int, int], Singles], turns: Rows, top: int) -> tuple[Rows, Floats]:
    """Return the ``top`` rows of the log that are most similar to each centroid, best first.

    ``turns`` has a number for every row: of level ones those with lower numbers come first.
    """
    centers = _unit(centroids)
    # Some centers after the other, for each part of the log: similarities to all would grow with their number.
    size = max(1, min(_CENTERS, -(-len(centers) // workers())))
    blocks = [_Best(centers[start : start + size], turns, top) for start in range(0, len(centers), size)]
    for first in range(0, len(turns), _SLABS * _SLAB):
        starts = range(first, min(first + _SLABS * _SLAB, len(turns)), _SLAB)
        slabs = in_threads(lambda start: _unit(log_rows(start, min(start + _SLAB, len(turns)))), starts)
        parts = [(start, slab, slab.astype(np.float32)) for start, slab in zip(starts, slabs, strict=True)]
        in_threads(functools.partial(_Best.look_at_all, parts=parts), blocks)
    shape = (len(centers), min(top, len(turns)))
    rows = np.concatenate([block.rows.reshape(-1, shape[1]) for block in blocks] or [np.empty(shape, np.int64)])
    scores = np.empty(shape)
    for number, center in enumerate(centers):
        # The last bits of a product depend on its shape. One row at a time: the same for any other rows in the batch.
        vectors = [_unit(log_rows(row, row + 1))[0] for row in rows[number].tolist()]
        scores[number] = [float((center * vector).sum()) for vector in vectors]
    return rows, scores


class _Best:
    """The rows that are most similar to some centers, of those looked at so far."""

    def __init__(self, centers: Floats, turns: Rows, top: int) -> None:
        self._centers, self._turns, self._top = centers, turns, top
        self._singles, self._slack = centers.astype(np.float32), 2 * error_bound(centers.shape[1])
        self._of, self.rows, self._scores = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        self._bars = np.full(len(centers), -np.inf)  # what a row has to reach

    def look_at_all(self, parts: "Sequence[tuple[int, Floats, Singles]]") -> None:
        """Compare the centers with several slabs, one after the other."""
        for part in parts:
            self.look(*part)

    def look(self, start: int, slab: Floats, singles: Singles) -> None:
        """Compare the centers with further rows, of which ``singles`` has less digits."""
        if np.isfinite(self._bars).all():
            # Few rows reach the best so far, and only these are computed with all digits.
            low = (self._bars - self._slack).astype(np.float32)
            of, column, scores = _reaching(self._singles @ singles.T, low, self._bars, self._centers, slab)
        else:
            of, column, scores = self._first(slab)
        if len(of):
            self._add(of, start + column, scores)

    def _first(self, slab: Floats) -> tuple[Rows, Rows, Floats]:
        """Return whatever may be among the best of all rows so far."""
        scores, bars = self._centers @ slab.T, self._bars
        if self._top < len(slab):
            last = len(slab) - self._top
            bars = np.maximum(bars, np.partition(scores, last, axis=1)[:, last] - 2 * EQUAL)
        of, column = np.nonzero(scores >= bars[:, None])
        return of, column, scores[of, column]

    def _add(self, of: Rows, rows: Rows, scores: Floats) -> None:
        of, rows = np.concatenate([self._of, of]), np.concatenate([self.rows, rows])
        found = np.concatenate([self._scores, scores])
        # Rounding apart, equal similarities are ties.
        order = np.lexsort((self._turns[rows], -np.round(found, 12), of))
        of, rows, found = of[order], rows[order], found[order]
        kept = np.arange(len(of)) - np.searchsorted(of, of) < self._top
        self._of, self.rows, self._scores = of[kept], rows[kept], found[kept]
        ends = np.searchsorted(self._of, np.arange(len(self._bars)), side="right")
        full = np.bincount(self._of, minlength=len(self._bars)) >= self._top
        self._bars[full] = self._scores[ends[full] - 1] - 2 * EQUAL


@numba.njit(nogil=True, cache=True)
def _reaching(rough, low, bars, centers, slab):  # type: ignore[no-untyped-def]
    """Return the pairs of a center and a row that reach its bar, with their similarity in float64."""
    of, column, scores = [0][:0], [0][:0], [0.0][:0]
    for i in range(rough.shape[0]):
        for left in range(0, rough.shape[1], _STRIP):
            strip = rough[i, left : left + _STRIP]
            if not _reached(strip, low[i]):
                continue
            for j in range(strip.shape[0]):
                if strip[j] >= low[i]:
                    exact = _product(centers[i], slab[left + j])
                    if exact >= bars[i]:
                        of.append(i)
                        column.append(left + j)
                        scores.append(exact)
    return np.array(of), np.array(column), np.array(scores)


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def _reached(scores, bar):  # type: ignore[no-untyped-def]
    count = 0
    for j in range(scores.shape[0]):
        count += scores[j] >= bar
    return count
