"""Alike vectors end up together, in every way in which they may be stored."""

from typing import Any

import numpy as np
import pytest

from quipukit.covers import bisection
from quipukit.covers.bisection import Sides, bisected
from quipukit.covers.tree import starts

# Far apart in twos, then within each two: the order in which they are to be divided.
CENTERS = np.array([[0, 0, 0, 0], [0, 40, 0, 0], [90, 0, 0, 0], [90, 0, 40, 0]], np.float32)


def vectors(count: int = 40) -> Any:
    noise = np.random.default_rng(1).normal(size=(4 * count, 4)).astype(np.float32)
    return np.repeat(CENTERS, count, axis=0) + noise


def divided(matrix: Any, leaf: int) -> Any:
    return bisected(Sides(matrix), [np.arange(len(matrix))], leaf)


def test_clusters_are_found() -> None:
    order, means = divided(vectors(), 40)
    assert sorted(order.tolist()) == list(range(160))
    for begin, mean in zip(starts((160,), 40, 1)[:-1], means, strict=True):
        rows = order[begin : begin + 40]
        assert len(set(rows // 40)) == 1 and np.allclose(mean, vectors()[rows].mean(axis=0), atol=1e-5)


def test_the_most_typical_come_first_in_a_leaf() -> None:
    matrix = vectors()
    order, means = divided(matrix, 40)
    far = ((matrix[order[:40]] - means[0]) ** 2).sum(axis=1)
    assert (np.diff(far) >= -1e-4).all()


def test_nodes_that_stay_on_disk_are_divided_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tree; only the axis is found on fewer rows, so that clusters are compared, not rows."""
    monkeypatch.setattr(bisection, "_IN_MEMORY", 50)
    monkeypatch.setattr(bisection, "_BLOCK", 16)
    order, _ = divided(vectors(), 40)
    assert sorted(order.tolist()) == list(range(160))
    assert all(len(set(order[begin : begin + 40] // 40)) == 1 for begin in (0, 40, 80, 120))


def test_equal_vectors_have_a_partition() -> None:
    order, means = divided(np.ones((10, 3), np.float32), 2)
    assert sorted(order.tolist()) == list(range(10)) and np.allclose(means, 1)


def test_the_first_levels_go_by_form_and_kinds_stay_apart() -> None:
    forms = np.tile([[0.0], [1.0]], (80, 1)).astype(np.float32)  # every other row
    order, _ = bisected(Sides(vectors(), forms, 1), [np.arange(160)], 20)
    assert set(order[:80] % 2) == {0} and set(order[80:] % 2) == {1}
    assert all(len(set(order[begin : begin + 20] // 40)) == 1 for begin in range(0, 160, 20))
    kinds = [np.arange(0, 160, 2), np.arange(1, 160, 2)]
    order, means = bisected(Sides(vectors()), kinds, 20)
    assert set(order[:80] % 2) == {0} and len(means) == 8
