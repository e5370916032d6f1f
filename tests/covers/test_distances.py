"""Distances by another computation, and sums of exponentials within their stated error."""

import numpy as np
import pytest

from quipukit.covers.distances import between, distances, error_bound, log_normalizers, unit_rows

EPSILONS = [0.001, 1.0, 5.0, 20.0, 60.0, 500.0, 1e6]


def cloud(count: int, dimension: int = 30) -> np.ndarray:
    """Return unit vectors, some of them twice, some very near to others, and one of length 0."""
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((count, dimension))
    rows[1::7] = rows[::7][: len(rows[1::7])] + 0.003 * rng.standard_normal(rows[1::7].shape)
    rows[5] = rows[2]
    rows[9] = 0
    return unit_rows(rows)


def exact(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    differences = points[:, None].astype(np.float64) - rows[None].astype(np.float64)
    return np.sqrt((differences**2).sum(axis=2))


@pytest.mark.parametrize("dimension", [1, 3, 30, 384])
def test_distances_to_one_point_are_exact(dimension: int) -> None:
    rows = cloud(200, dimension)
    for point in rows[[0, 2, 9]]:
        np.testing.assert_allclose(distances(rows, point), exact(point[None], rows)[0], rtol=1e-13, atol=1e-15)
    assert distances(rows, rows[2])[[2, 5]].tolist() == [0, 0]
    assert distances(rows, rows[9])[[0, 9]] == pytest.approx([1, 0])


def test_distances_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = cloud(40_000, 8)
    monkeypatch.setenv("QUIPUKIT_THREADS", "1")
    one = distances(rows, rows[3])
    monkeypatch.setenv("QUIPUKIT_THREADS", "3")
    assert np.array_equal(one, distances(rows, rows[3]))


def test_many_distances_are_near_the_exact_ones() -> None:
    rows, points = cloud(500), cloud(40)
    np.testing.assert_allclose(between(points, rows).T, exact(points, rows), atol=2e-5)
    assert between(rows[2:3], rows)[[2, 5], 0].tolist() == [0, 0]


@pytest.mark.parametrize("far", [False, True])
def test_normalizers_are_within_their_error(far: bool) -> None:
    """For queries of the pool, others near to them, and (far) others near to nothing."""
    rows = cloud(600)
    points = unit_rows(np.random.default_rng(1).standard_normal((120, 30))) if far else rows[:120]
    logs = log_normalizers(points, rows, EPSILONS)
    weights = -np.array(EPSILONS)[:, None, None] / 2 * exact(points, rows)
    most = weights.max(axis=2, keepdims=True)
    truth = (np.log(np.exp(weights - most).sum(axis=2)) + most[:, :, 0]).T
    for column, epsilon in enumerate(EPSILONS):
        assert np.abs(logs - truth)[:, column].max() <= error_bound(epsilon) + 1e-9
    assert np.abs(logs - truth)[:, 3].max() > 1e-9  # it is not that the bound is never needed


def test_normalizers_tell_how_far_they_are() -> None:
    seen: list[tuple[int, int]] = []
    log_normalizers(cloud(600), cloud(50), [1.0], lambda done, total: seen.append((done, total)))
    assert max(seen) == (600, 600)
