"""The compiled loops behind the nearest-word searches, each against the same thing in NumPy."""

import numpy as np
import pytest

from quipukit.jit import fixed
from quipukit.vectors import kernels


def rows(count: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)


@pytest.mark.parametrize("width", [1, 127, 128, 129])
def test_one_score_above_the_bar_is_noticed_wherever_it_stands(width):
    offsets, slopes = rows(2, width)
    scores = offsets + np.float32(0.5) * slopes
    top = scores.max()
    for place in {0, width // 2, width - 1}:
        moved = np.roll(scores, place - int(scores.argmax()))
        assert kernels.any_reach(moved, top) and not kernels.any_reach(moved, np.nextafter(top, np.float32(np.inf)))
    assert kernels.any_above(offsets, slopes, np.float32(0.5), np.float32(top - 1e-3))
    assert not kernels.any_above(offsets, slopes, np.float32(0.5), np.float32(top + 1e-3))


def test_folded_maxima_are_maxima():
    row = rows(1, 16 * kernels.FOLDS)[0]
    tops = np.empty(16, np.float32)
    kernels.fold_maxima(row, tops)
    np.testing.assert_array_equal(tops, row.reshape(kernels.FOLDS, 16).max(axis=0))


def test_a_word_is_at_distance_zero_from_itself_however_far_out():
    matrix = fixed(rows(20, 5) + np.float32(1e6))
    out = np.empty(20)
    kernels.all_distances(matrix, matrix[7].astype(np.float64), out)
    assert out[7] == 0
    np.testing.assert_allclose(out, np.linalg.norm(matrix.astype(np.float64) - matrix[7], axis=1), rtol=1e-12)


def test_products_are_added_up_in_double_precision():
    matrix = fixed(np.full((3, 4096), 0.1, np.float32))
    point = np.ones(4096)
    out = np.empty(3)
    kernels.all_products(matrix, point, out)
    np.testing.assert_allclose(out, matrix.astype(np.float64) @ point, rtol=1e-13)
    assert abs(float(np.cumsum(matrix[0])[-1]) - out[0]) > 1e-3, "single precision would be off; or this shows nothing"


@pytest.mark.parametrize("room", [4, 8, 64])
def test_the_nearest_survive_in_however_little_room(room):
    """Candidates are dropped when the room is full, but never one of the k nearest, and ties go to the lower row."""
    k, tile, matrix = 2, 96, fixed(np.repeat(rows(48, 3, seed=2), 4, axis=0))  # every word stands four times
    points = rows(5, 3, seed=3).astype(np.float64)
    scores = (points @ matrix.T - 0.5 * np.square(matrix, dtype=np.float64).sum(axis=1)).astype(np.float32)
    kept, kept_score = np.zeros((5, room), np.int64), np.zeros((5, room), np.float32)
    kept_count, bar = np.zeros(5, np.int64), np.full(5, -np.inf, np.float32)
    slack = np.full(5, 1e-3, np.float32)
    for start in range(0, len(matrix), tile):
        kernels.gather(
            np.ascontiguousarray(scores[:, start : start + tile]),
            k,
            slack,
            start,
            matrix,
            points,
            bar,
            kept,
            kept_score,
            kept_count,
        )
    found = np.full((5, k), -1, np.int64)
    kernels.rank(matrix, points, k, slack, np.empty(0, np.int64), kept, kept_score, kept_count, found)
    squares = np.square(points[:, None] - matrix[None].astype(np.float64)).sum(axis=2)
    np.testing.assert_array_equal(found, np.argsort(squares, axis=1, kind="stable")[:, :k])
