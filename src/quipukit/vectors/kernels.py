"""The compiled loops behind the searches of ``nearest``: they scan tiles of scores and decide among candidates.

All of them release the interpreter's lock and run on one core; the threads around them share out the blocks. A score
may be evaluated fused or unfused, in any order: the error bound that sets the bar covers every way.
"""

import numpy as np

from quipukit.jit import numba

# A tile is looked at as a whole, then strip by strip; over a sweep, folded to an eighth first.
STRIP = 128
FOLDS = 8

_FAST = {"nnan", "nsz", "contract", "reassoc"}


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def any_above(offsets, slopes, radius, bar):  # type: ignore[no-untyped-def]
    """Return whether a score reaches the bar. LLVM vectorizes an "or" of comparisons, but not a maximum of floats."""
    hit = False
    for j in range(offsets.shape[0]):
        hit |= offsets[j] + radius * slopes[j] >= bar
    return hit


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def any_reach(scores, bar):  # type: ignore[no-untyped-def]
    """Return whether a score reaches the bar."""
    hit = False
    for j in range(scores.shape[0]):
        hit |= scores[j] >= bar
    return hit


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def fold_maxima(row, tops):  # type: ignore[no-untyped-def]
    """Fold a row into an eighth of its length: the maximum of the numbers that come to lie on each other."""
    lanes = tops.shape[0]
    for lane in range(lanes):
        tops[lane] = row[lane]
    for fold in range(1, FOLDS):
        for lane in range(lanes):
            number = row[fold * lanes + lane]
            tops[lane] = number if number > tops[lane] else tops[lane]


@numba.njit(nogil=True, cache=True)
def scan(offsets, slopes, start, space, single_radii, slack, best, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    """Keep, for every row and radius, the words of a tile that may be among the two nearest.

    Most tiles hold no candidate: one vectorized comparison settles them. Over a sweep of radii a bound comes before it:
    the maxima of offsets and of slopes bound every score (radii are not negative), and are an eighth of the numbers.
    """
    base_of, direction_of, radii = space[2], space[5], single_radii
    width = offsets.shape[1]
    bounded = radii.shape[1] > 1 and width % FOLDS == 0
    offset_tops = np.empty((offsets.shape[0], width // FOLDS), np.float32)
    slope_tops = np.empty(width // FOLDS, np.float32)
    folded = -1
    if bounded:
        for base in range(offsets.shape[0]):
            fold_maxima(offsets[base], offset_tops[base])
    for i in range(radii.shape[0]):
        offset, slope, tops = offsets[base_of[i]], slopes[direction_of[i]], offset_tops[base_of[i]]
        if bounded and direction_of[i] != folded:
            fold_maxima(slope, slope_tops)
            folded = direction_of[i]
        for e in range(radii.shape[1]):
            radius, bar = radii[i, e], best[i, e, 1] - slack[i, e]
            if bounded and not any_above(tops, slope_tops, radius, bar):
                continue
            if not any_above(offset, slope, radius, bar):
                continue
            for left in range(0, width, STRIP):
                right = min(left + STRIP, width)
                bar = best[i, e, 1] - slack[i, e]
                if any_above(offset[left:right], slope[left:right], radius, bar):
                    _look(
                        i,
                        e,
                        left,
                        right,
                        start,
                        offset,
                        slope,
                        radius,
                        space,
                        slack,
                        best,
                        kept,
                        kept_score,
                        kept_count,
                    )


@numba.njit(nogil=True, cache=True)
def _look(i, e, left, right, start, offset, slope, radius, space, slack, best, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    bar = best[i, e, 1] - slack[i, e]
    for j in range(left, right):
        score = offset[j] + radius * slope[j]
        if score < bar or score == -np.inf:
            continue
        if kept_count[i, e] == kept.shape[2]:
            _make_room(i, e, bar, space, kept, kept_score, kept_count)
        kept[i, e, kept_count[i, e]] = start + j
        kept_score[i, e, kept_count[i, e]] = score
        kept_count[i, e] += 1
        if score > best[i, e, 0]:
            best[i, e, 1] = best[i, e, 0]
            best[i, e, 0] = score
        elif score > best[i, e, 1]:
            best[i, e, 1] = score
        bar = best[i, e, 1] - slack[i, e]


@numba.njit(nogil=True, cache=True)
def _make_room(i, e, bar, space, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    """Drop candidates that the bar has overtaken; where few can go (many equal words), all but the two nearest."""
    keep = 0
    for c in range(kept.shape[2]):
        if kept_score[i, e, c] >= bar:
            kept[i, e, keep] = kept[i, e, c]
            kept_score[i, e, keep] = kept_score[i, e, c]
            keep += 1
    if 2 * keep > kept.shape[2]:
        # A float64 comparison of what is there costs as much as it holds; that of all words would cost them all.
        first, second, _, _ = _nearest_of(kept[i, e, :keep], kept[i, e, :0], i, e, space)
        low, high = min(first, second), max(first, second)
        settled = 0
        for c in range(keep):
            if kept[i, e, c] == low or kept[i, e, c] == high:
                kept[i, e, settled], kept_score[i, e, settled] = kept[i, e, c], kept_score[i, e, c]
                settled += 1
        keep = settled
    kept_count[i, e] = keep


@numba.njit(nogil=True, cache=True)
def _nearest_of(rows, more, i, e, space):  # type: ignore[no-untyped-def]
    """Return the two nearest of some rows and of some more, and the squares of their distances, in float64."""
    matrix, bases, base_of, directions, radii, direction_of = space
    first, second = -1, -1
    nearest, next_nearest = np.inf, np.inf
    for c in range(rows.shape[0] + more.shape[0]):
        row = rows[c] if c < rows.shape[0] else more[c - rows.shape[0]]
        square = 0.0
        for k in range(matrix.shape[1]):
            gap = bases[base_of[i], k] + radii[i, e] * directions[direction_of[i], k] - matrix[row, k]
            square += gap * gap
        # Ties go to the lower row.
        if square < nearest or (square == nearest and row < first):
            second, next_nearest = first, nearest
            first, nearest = row, square
        elif square < next_nearest or (square == next_nearest and row < second):
            second, next_nearest = row, square
    return first, second, nearest, next_nearest


@numba.njit(nogil=True, cache=True)
def decide(space, long_rows, slack, best, kept, kept_score, kept_count, found, squares):  # type: ignore[no-untyped-def]
    """Find the two nearest among the candidates and the long rows, which no scan has seen; write rows and squares."""
    for i in range(found.shape[0]):
        for e in range(found.shape[1]):
            bar = best[i, e, 1] - slack[i, e]
            keep = 0
            for c in range(kept_count[i, e]):
                if kept_score[i, e, c] >= bar:
                    kept[i, e, keep] = kept[i, e, c]
                    keep += 1
            first, second, nearest, next_nearest = _nearest_of(kept[i, e, :keep], long_rows, i, e, space)
            found[i, e, 0], found[i, e, 1] = first, second
            squares[i, e, 0], squares[i, e, 1] = nearest, next_nearest


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def all_distances(matrix, point, out):  # type: ignore[no-untyped-def]
    for row in range(matrix.shape[0]):
        square = 0.0
        for k in range(matrix.shape[1]):
            # Differences, not |a|^2 + |b|^2 - 2ab: that cancels, and a word must be at distance 0 from itself.
            gap = point[k] - np.float64(matrix[row, k])
            square += gap * gap
        out[row] = np.sqrt(square)


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def all_products(matrix, point, out):  # type: ignore[no-untyped-def]
    for row in range(matrix.shape[0]):
        total = 0.0
        for k in range(matrix.shape[1]):
            total += point[k] * np.float64(matrix[row, k])
        out[row] = total


@numba.njit(nogil=True, cache=True)
def gather(scores, k, slack, start, matrix, points, bar, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    """Keep, for every point, the words of a tile that may be among its k nearest."""
    for i in range(scores.shape[0]):
        for left in range(0, scores.shape[1], STRIP):
            right = min(left + STRIP, scores.shape[1])
            if not any_reach(scores[i, left:right], bar[i]):
                continue
            for j in range(left, right):
                if scores[i, j] < bar[i] or scores[i, j] == -np.inf:
                    continue
                if kept_count[i] == kept.shape[1]:
                    # The k-th best so far sets the bar; raising it only now keeps the common step short.
                    bar[i] = np.partition(kept_score[i], kept.shape[1] - k)[kept.shape[1] - k] - slack[i]
                    keep = 0
                    for c in range(kept.shape[1]):
                        if kept_score[i, c] >= bar[i]:
                            kept[i, keep], kept_score[i, keep] = kept[i, c], kept_score[i, c]
                            keep += 1
                    if 2 * keep > kept.shape[1]:  # many equal words: compare what is there, and keep k of them
                        chosen = np.sort(_k_nearest(matrix, points[i], kept[i, :keep], k, True))
                        kept_score[i, : chosen.shape[0]] = kept_score[i, :keep][chosen]
                        kept[i, : chosen.shape[0]] = kept[i, :keep][chosen]
                        keep = chosen.shape[0]
                    kept_count[i] = keep
                    if scores[i, j] < bar[i]:
                        continue
                kept[i, kept_count[i]] = start + j
                kept_score[i, kept_count[i]] = scores[i, j]
                kept_count[i] += 1


@numba.njit(nogil=True, cache=True)
def _k_nearest(matrix, point, rows, k, places):  # type: ignore[no-untyped-def]
    """Return the k nearest of some increasing rows, by (distance, row): their places among them, or the rows."""
    squares = np.empty(rows.shape[0])
    for c in range(rows.shape[0]):
        square = 0.0
        for d in range(matrix.shape[1]):
            gap = point[d] - matrix[rows[c], d]
            square += gap * gap
        squares[c] = square
    # Rows come in increasing order, so a stable sort gives ties to the lower row.
    order = np.argsort(squares, kind="mergesort")[:k]
    return order if places else rows[order]


@numba.njit(nogil=True, cache=True)
def rank(matrix, points, k, slack, long_rows, kept, kept_score, kept_count, found):  # type: ignore[no-untyped-def]
    """Rank the candidates and the long rows, which no scan has seen."""
    for i in range(points.shape[0]):
        rows = kept[i, : kept_count[i]].copy()
        if kept_count[i] > k:
            scores = kept_score[i, : kept_count[i]]
            bar = np.partition(scores, kept_count[i] - k)[kept_count[i] - k] - slack[i]
            rows = rows[scores >= bar]
        rows = np.sort(np.concatenate((rows, long_rows)))
        chosen = _k_nearest(matrix, points[i], rows, k, False)
        found[i, : chosen.shape[0]] = chosen
