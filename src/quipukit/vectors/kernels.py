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
    """Tell whether a score reaches the bar. LLVM vectorises an "or" of comparisons, but not a maximum of floats."""
    hit = False
    for j in range(offsets.shape[0]):
        hit |= offsets[j] + radius * slopes[j] >= bar
    return hit


@numba.njit(nogil=True, cache=True, fastmath=_FAST)
def any_reach(scores, bar):  # type: ignore[no-untyped-def]
    """Tell whether a score reaches the bar."""
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
def scan(offsets, slopes, base_of, radii, slack, start, best, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    """Keep, for every row and radius, the words of a tile that may be among the two nearest.

    Most tiles hold no candidate: one vectorised comparison settles them. Over a sweep of radii a bound comes before it:
    the maxima of offsets and of slopes bound every score (radii are not negative), and are an eighth of the numbers.
    """
    width = offsets.shape[1]
    bounded = radii.shape[1] > 1 and width % FOLDS == 0
    offset_tops = np.empty((offsets.shape[0], width // FOLDS), np.float32)
    slope_tops = np.empty(width // FOLDS, np.float32)
    if bounded:
        for base in range(offsets.shape[0]):
            fold_maxima(offsets[base], offset_tops[base])
    for i in range(radii.shape[0]):
        offset, slope, tops = offsets[base_of[i]], slopes[i], offset_tops[base_of[i]]
        if bounded:
            fold_maxima(slope, slope_tops)
        for e in range(radii.shape[1]):
            radius, bar = radii[i, e], best[i, e, 1] - slack[i, e]
            if kept_count[i, e] < 0 or (bounded and not any_above(tops, slope_tops, radius, bar)):
                continue
            if not any_above(offset, slope, radius, bar):
                continue
            for left in range(0, width, STRIP):
                right = min(left + STRIP, width)
                bar = best[i, e, 1] - slack[i, e]
                if kept_count[i, e] >= 0 and any_above(offset[left:right], slope[left:right], radius, bar):
                    _look(i, e, left, right, start, offset, slope, radii, slack, best, kept, kept_score, kept_count)


@numba.njit(nogil=True, cache=True)
def _look(i, e, left, right, start, offset, slope, radii, slack, best, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    bar = best[i, e, 1] - slack[i, e]
    for j in range(left, right):
        score = offset[j] + radii[i, e] * slope[j]
        if score < bar:
            continue
        if kept_count[i, e] == kept.shape[2] and not _make_room(i, e, bar, kept, kept_score, kept_count):
            break
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
def _make_room(i, e, bar, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    """Drop candidates that the bar has overtaken; where none can go, mark the search as crowded (-1)."""
    keep = 0
    for c in range(kept.shape[2]):
        if kept_score[i, e, c] >= bar:
            kept[i, e, keep] = kept[i, e, c]
            kept_score[i, e, keep] = kept_score[i, e, c]
            keep += 1
    kept_count[i, e] = keep if keep < kept.shape[2] else -1
    return keep < kept.shape[2]


@numba.njit(nogil=True, cache=True)
def decide(matrix, bases, base_of, directions, radii, slack, best, kept, kept_score, kept_count, found, distance):  # type: ignore[no-untyped-def]
    dimension = matrix.shape[1]
    point = np.empty(dimension)
    for i in range(radii.shape[0]):
        for e in range(radii.shape[1]):
            for k in range(dimension):
                point[k] = bases[base_of[i], k] + radii[i, e] * directions[i, k]
            bar = best[i, e, 1] - slack[i, e]
            first, second = -1, -1
            nearest, next_nearest = np.inf, np.inf
            crowded = kept_count[i, e] < 0
            for c in range(matrix.shape[0] if crowded else kept_count[i, e]):
                if not crowded and kept_score[i, e, c] < bar:
                    continue
                row = c if crowded else kept[i, e, c]
                square = 0.0
                for k in range(dimension):
                    gap = point[k] - matrix[row, k]
                    square += gap * gap
                # Candidates come by increasing row, so a strict comparison gives ties to the lower row.
                if square < nearest:
                    second, next_nearest = first, nearest
                    first, nearest = row, square
                elif square < next_nearest:
                    second, next_nearest = row, square
            found[i, e, 0], found[i, e, 1] = first, second
            distance[i, e, 0], distance[i, e, 1] = np.sqrt(nearest), np.sqrt(next_nearest)


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
def gather(scores, k, slack, start, bar, kept, kept_score, kept_count):  # type: ignore[no-untyped-def]
    for i in range(scores.shape[0]):
        for left in range(0, scores.shape[1], STRIP):
            right = min(left + STRIP, scores.shape[1])
            if kept_count[i] < 0 or not any_reach(scores[i, left:right], bar[i]):
                continue
            for j in range(left, right):
                if scores[i, j] < bar[i]:
                    continue
                if kept_count[i] == kept.shape[1]:
                    # The k-th best so far sets the bar; raising it only now keeps the common step short.
                    bar[i] = np.partition(kept_score[i], kept.shape[1] - k)[kept.shape[1] - k] - slack[i]
                    keep = 0
                    for c in range(kept.shape[1]):
                        if kept_score[i, c] >= bar[i]:
                            kept[i, keep], kept_score[i, keep] = kept[i, c], kept_score[i, c]
                            keep += 1
                    kept_count[i] = keep if keep < kept.shape[1] else -1
                    if kept_count[i] < 0:
                        break
                    if scores[i, j] < bar[i]:
                        continue
                kept[i, kept_count[i]] = start + j
                kept_score[i, kept_count[i]] = scores[i, j]
                kept_count[i] += 1


@numba.njit(nogil=True, cache=True)
def rank(matrix, points, k, slack, kept, kept_score, kept_count, found):  # type: ignore[no-untyped-def]
    for i in range(points.shape[0]):
        crowded = kept_count[i] < 0
        if crowded:
            rows = np.arange(matrix.shape[0])
        else:
            rows = kept[i, : kept_count[i]].copy()
            if kept_count[i] > k:
                scores = kept_score[i, : kept_count[i]]
                bar = np.partition(scores, kept_count[i] - k)[kept_count[i] - k] - slack[i]
                rows = rows[scores >= bar]
        squares = np.empty(rows.shape[0])
        for c in range(rows.shape[0]):
            square = 0.0
            for d in range(matrix.shape[1]):
                gap = points[i, d] - matrix[rows[c], d]
                square += gap * gap
            squares[c] = square
        # Rows come in increasing order, so a stable sort gives ties to the lower row.
        order = np.argsort(squares, kind="mergesort")
        for c in range(min(k, rows.shape[0])):
            found[i, c] = rows[order[c]]
