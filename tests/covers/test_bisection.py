"""Alike vectors end up together, in every way in which they may be stored."""

from typing import Any

import numpy as np
import pytest

from quipukit.covers import bisection
from quipukit.covers.bisection import bisected
from quipukit.covers.tree import starts

# Far apart in twos, then within each two: the order in which they are to be divided.
CENTERS = np.array([[0, 0, 0, 0], [0, 40, 0, 0], [90, 0, 0, 0], [90, 0, 40, 0]], np.float32)


def vectors(count: int = 40) -> Any:
    noise = np.random.default_rng(1).normal(size=(4 * count, 4)).astype(np.float32)
    return np.repeat(CENTERS, count, axis=0) + noise


def test_clusters_are_found() -> None:
    order, means = bisected(vectors(), 40)
    assert sorted(order.tolist()) == list(range(160))
    for begin, mean in zip(starts(160, 40, 1)[:-1], means, strict=True):
        rows = order[begin : begin + 40]
        assert len(set(rows // 40)) == 1 and np.allclose(mean, vectors()[rows].mean(axis=0), atol=1e-5)


def test_the_most_typical_come_first_in_a_leaf() -> None:
    matrix = vectors()
    order, means = bisected(matrix, 40)
    far = ((matrix[order[:40]] - means[0]) ** 2).sum(axis=1)
    assert (np.diff(far) >= -1e-4).all()


def test_nodes_that_stay_on_disk_are_divided_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same tree; only the axis is found on fewer rows, so that clusters are compared, not rows."""
    monkeypatch.setattr(bisection, "_IN_MEMORY", 50)
    monkeypatch.setattr(bisection, "_BLOCK", 16)
    order, _ = bisected(vectors(), 40)
    assert sorted(order.tolist()) == list(range(160))
    assert all(len(set(order[begin : begin + 40] // 40)) == 1 for begin in (0, 40, 80, 120))


def test_equal_vectors_have_a_partition() -> None:
    order, means = bisected(np.ones((10, 3), np.float32), 2)
    assert sorted(order.tolist()) == list(range(10)) and np.allclose(means, 1)
