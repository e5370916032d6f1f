"""Exact nearest neighbors at the speed of the matrix product.

Every search here works the same way. Scores come from a float32 matrix product, tile by tile. Each score is off
by at most a bound that is *proved* from the length of the sum and the norms (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1), so the words whose score lies within twice that bound of the best are
the only ones that can be nearest. Those few are compared again in float64. The answer is therefore that of a
float64 brute force, and does not depend on tiles, blocks, threads or the BLAS in use. Ties go to the lower row.

The bound grows with the longest vector, so a few rows much longer than the others (one corrupt line of a file) would
make every word a candidate: they stand aside, and are compared in float64 with every point. Where more words are equal
than a list of candidates holds, the list is settled in float64 when it is full.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quipukit.jit import fixed
from quipukit.numeric import error_bound
from quipukit.threads import in_threads, workers
from quipukit.vectors import kernels

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Rows = NDArray[np.int64]

# A tile of scores (BLOCK x TILE floats, 1 MB) stays in the second-level cache between product and scan.
BLOCK = 512
TILE = 512
_KEPT = 64
_SHARED = 256  # directions in a block, where several rows share each
_FEW = 64  # points of which so few are divided among no threads: the words are
_SHARE = 1 << 21  # numbers of a share of the words at least: to begin a thread takes as long as to read a million
_WIDE = 32_768  # words of a tile at most, where points are few
_NARROW = 32  # rows of a product up to which the BLAS is quicker the other way round: it does not copy the words first
# Rows that are handled separately: at most this many, and longer than this many times the median.
_ASIDE, _LONG = 64, 4.0


class Norms(NamedTuple):
    """What a search has to know of the norms of all rows: what `norms_of` makes of their half norms, once."""

    long_rows: Rows  # a few that are much longer than the others, and stand aside
    largest: float  # norm of the others
    halves: Singles  # half of each squared norm; infinite for long rows: no scan takes them for near


def block_size(count: int) -> int:
    """Return how many rows make a block: equal shares for the threads, none larger than the cache allows.

    A small block at the end would read the whole matrix for a few rows while the other threads wait.
    """
    rounds = -(-count // (BLOCK * workers()))
    return max(1, -(-count // (max(1, rounds) * workers())))


# --- the two nearest words of noisy vectors ---------------------------------------------------------------------


def nearest_two(
    matrix: Singles,
    half_norms: "Floats | Norms",
    bases: Floats,
    base_of: Rows,
    directions: Floats,
    radii: Floats,
    direction_of: Rows | None = None,
) -> tuple[Rows, Floats]:
    """Find the two rows of ``matrix`` nearest to ``bases[base_of[i]] + radii[i, e] * directions[i]``.

    Ordering by distance is ordering by ``g + radius * h`` with ``g = base.w - |w|^2/2`` and ``h = direction.w``,
    so one product serves all radii of a direction, and all bases that share it: with ``direction_of``, which must
    increase, it is ``directions[direction_of[i]]`` that belongs to i. Returns rows and distances, both of shape
    (rows, radii, 2), by increasing (distance, row); with a vocabulary of one word the second is row -1 at distance
    infinity.
    """
    count, dimension = len(radii), directions.shape[1]
    shared = direction_of is not None
    direction_of = np.arange(count) if direction_of is None else direction_of
    matrix = fixed(matrix)  # slicing a memory map is slow Python; a view of it is not
    radii = np.ascontiguousarray(radii, dtype=np.float64)
    norms = half_norms if isinstance(half_norms, Norms) else norms_of(half_norms)
    lengths = np.linalg.norm(directions, axis=1)[direction_of][:, None]
    reach = np.linalg.norm(bases, axis=1)[base_of][:, None] + radii * lengths
    slack = 2 * error_bound(dimension) * (reach + norms.largest) * norms.largest
    # Where directions are shared, a block is wide in rows and still narrow in directions.
    block = block_size(count) if not shared else -(-count // max(1, len(directions))) * _SHARED
    shards = [slice(0, len(matrix))]
    if count <= _FEW:
        # Each thread would read all words for its share of the points; so each takes a share of the words.
        threads = min(workers(), max(1, matrix.size // _SHARE))
        block, share = max(1, count), -(-len(matrix) // (threads * TILE)) * TILE
        shards = [slice(start, min(start + share, len(matrix))) for start in range(0, len(matrix), max(1, share))]
    found = np.empty((len(shards), count, radii.shape[1], 2), np.int64)
    squares = np.empty((len(shards), count, radii.shape[1], 2), np.float64)

    def search(task: tuple[int, int]) -> None:
        number, start = task
        part, words = slice(start, min(start + block, count)), shards[number]
        used, local = np.unique(base_of[part], return_inverse=True)
        ways, way_of = np.unique(direction_of[part], return_inverse=True)
        space = (matrix[words], bases[used], local, directions[ways], radii[part], way_of)
        own = found[number, part], squares[number, part]
        _search_block(space, _norms_within(norms, words), slack[part], shared, *own)
        own[0][own[0] >= 0] += words.start

    in_threads(search, [(number, start) for number in range(len(shards)) for start in range(0, count, block)])
    nearest, square = _nearest_of_shards(found, squares) if len(shards) > 1 else (found[0], squares[0])
    return nearest, np.sqrt(square)


def _norms_within(norms: Norms, words: slice) -> Norms:
    own = norms.long_rows[(norms.long_rows >= words.start) & (norms.long_rows < words.stop)]
    return Norms(own - words.start, norms.largest, norms.halves[words])


def _nearest_of_shards(found: Rows, squares: Floats) -> tuple[Rows, Floats]:
    """Return the two nearest of what each part of the words has found, by increasing (distance, row)."""
    rows = np.concatenate(list(found), axis=-1)
    square = np.concatenate(list(squares), axis=-1)
    # Where a part has one word only, its second is row -1, at distance infinity: after all others.
    order = np.lexsort((np.where(rows < 0, np.iinfo(np.int64).max, rows), square))[..., :2]
    return np.take_along_axis(rows, order, -1), np.take_along_axis(square, order, -1)


# What is searched (matrix), and the points: bases, the base of each, directions, radii, the direction of each.
_Space = tuple[Singles, Floats, Rows, Floats, Floats, Rows]


def _search_block(space: _Space, norms: Norms, slack: Floats, shared: bool, found: Rows, squares: Floats) -> None:
    matrix, bases, base_of, directions, radii, direction_of = space
    count, sweep = radii.shape
    if sweep == 1 and not shared:
        # One radius: the noisy points themselves, and nothing to add to their product.
        directions = bases[base_of] + radii * directions
        bases, base_of, radii = np.zeros((1, bases.shape[1])), np.zeros_like(base_of), np.ones_like(radii)
        space = (matrix, bases, base_of, directions, radii, direction_of)
    # One product for both: a narrow one of its own for the few bases would cost as much as a wide one.
    stacked = np.concatenate([directions, bases]).astype(np.float32)
    width = min(_WIDE, max(TILE, BLOCK * TILE // len(stacked) // TILE * TILE))
    buffer = np.empty(len(stacked) * width, np.float32)
    single_radii, single_slack = radii.astype(np.float32), np.nextafter(slack.astype(np.float32), np.float32(np.inf))
    best = np.full((count, sweep, 2), -np.inf, np.float32)
    kept = np.empty((count, sweep, _KEPT), np.int64)
    kept_score = np.empty((count, sweep, _KEPT), np.float32)
    kept_count = np.zeros((count, sweep), np.int64)
    candidates = (single_slack, best, kept, kept_score, kept_count)
    for start in range(0, len(matrix), width):
        tile = matrix[start : start + width]
        scores = buffer[: len(stacked) * len(tile)].reshape(len(stacked), len(tile))
        if len(stacked) <= _NARROW:
            scores[...] = np.matmul(tile, stacked.T).T
        else:
            np.matmul(stacked, tile.T, out=scores)
        slopes, offsets = scores[: len(directions)], scores[len(directions) :]
        offsets -= norms.halves[start : start + width]
        kernels.scan(offsets, slopes, start, space, single_radii, *candidates)
    kernels.decide(space, norms.long_rows, *candidates, found, squares)


def norms_of(half_norms: Floats) -> Norms:
    """Set the few rows aside that are much longer than the others."""
    halves = half_norms.astype(np.float32)
    if not len(halves):
        return Norms(np.empty(0, np.int64), 0.0, halves)
    # Half norms are squares: four times the length is sixteen times the square.
    limit = _LONG**2 * float(np.median(half_norms))
    long_rows = np.flatnonzero(half_norms > limit)
    if len(long_rows) > _ASIDE:
        long_rows = np.sort(long_rows[np.argsort(half_norms[long_rows], kind="stable")[-_ASIDE:]])
    halves[long_rows] = np.inf
    rest = np.where(np.isinf(halves), 0.0, half_norms)
    return Norms(long_rows, float(np.sqrt(2 * rest.max())), halves)


# --- distances to all words -------------------------------------------------------------------------------------


def distances(matrix: Singles, point: Floats) -> Floats:
    """Return the Euclidean distance of ``point`` to every row, in float64."""
    out = np.empty(len(matrix))
    kernels.all_distances(fixed(matrix), np.ascontiguousarray(point, dtype=np.float64), out)
    return out


def products(matrix: Singles, point: Floats) -> Floats:
    """Return the product of ``point`` with every row, in float64; no copy of the matrix is made."""
    out = np.empty(len(matrix))
    kernels.all_products(fixed(matrix), np.ascontiguousarray(point, dtype=np.float64), out)
    return out


# --- the k nearest words ----------------------------------------------------------------------------------------


def top_k(matrix: Singles, half_norms: Floats, points: Floats, k: int) -> Rows:
    """Find the k rows nearest to each point, by increasing (distance, row); -1 fills up where rows are too few."""
    count, dimension = points.shape
    matrix = fixed(matrix)
    long_rows, largest, halves = norms_of(half_norms)
    slack = 2 * error_bound(dimension) * (np.linalg.norm(points, axis=1) + largest) * largest
    slack = np.nextafter(slack.astype(np.float32), np.float32(np.inf))
    singles = points.astype(np.float32)
    found = np.full((count, k), -1, np.int64)
    block = block_size(count)

    def search(start: int) -> None:
        part = slice(start, min(start + block, count))
        size = part.stop - part.start
        bar = np.full(size, -np.inf, np.float32)
        kept = np.empty((size, 4 * k + _KEPT), np.int64)
        kept_score = np.empty((size, 4 * k + _KEPT), np.float32)
        kept_count = np.zeros(size, np.int64)
        buffer = np.empty(size * TILE, np.float32)
        for left in range(0, len(matrix), TILE):
            tile = matrix[left : left + TILE]
            scores = buffer[: size * len(tile)].reshape(size, len(tile))
            np.matmul(singles[part], tile.T, out=scores)
            scores -= halves[left : left + TILE]
            kernels.gather(scores, k, slack[part], left, matrix, points[part], bar, kept, kept_score, kept_count)
        kernels.rank(matrix, points[part], k, slack[part], long_rows, kept, kept_score, kept_count, found[part])

    in_threads(search, range(0, count, block))
    return found
