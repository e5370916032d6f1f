"""Nodes are disjoint, cover everything, and keep k places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.covers.tree import halves, starts
from quipukit.errors import InputError


@given(st.integers(2, 500), st.integers(1, 30), st.integers(1, 200))
def test_nodes_keep_k_places_where_there_are_as_many(size: int, leaf: int, k: int) -> None:
    leaf, k = min(leaf, size), min(k, size)
    sizes = np.diff(starts(size, leaf, k))
    assert sizes.sum() == size and sizes.min() >= k


@given(st.integers(2, 500), st.integers(1, 30))
def test_leaves_are_balanced(size: int, leaf: int) -> None:
    leaf = min(leaf, size)
    sizes = np.diff(starts(size, leaf, 1))
    assert len(sizes) == size // leaf and sizes.min() >= leaf and np.ptp(sizes) <= 1 + size % leaf


@given(st.integers(10, 500), st.integers(1, 10), st.integers(1, 100), st.integers(1, 100))
def test_nodes_of_two_sizes_are_nested(size: int, leaf: int, k: int, more: int) -> None:
    small, large = starts(size, leaf, min(k, size)), starts(size, leaf, min(k + more, size))
    assert set(large) <= set(small)


def test_a_node_is_not_divided_where_one_half_is_too_small() -> None:
    """Of 3 leaves the second half has two: as a node of its own it would overlap with the whole."""
    assert halves(30, 3) == (10, 1)
    assert starts(30, 10, 20).tolist() == [0, 30]


def test_a_leaf_larger_than_everything_is_refused() -> None:
    with pytest.raises(InputError, match="at most 5 queries"):
        starts(5, 6, 1)
