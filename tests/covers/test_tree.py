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
    sizes = np.diff(starts((size,), leaf, k))
    assert sizes.sum() == size and sizes.min() >= k


@given(st.integers(2, 500), st.integers(1, 30))
def test_leaves_are_balanced(size: int, leaf: int) -> None:
    leaf = min(leaf, size)
    sizes = np.diff(starts((size,), leaf, 1))
    assert len(sizes) == size // leaf and sizes.min() >= leaf and np.ptp(sizes) <= 1 + size % leaf


@given(st.integers(10, 500), st.integers(1, 10), st.integers(1, 100), st.integers(1, 100))
def test_nodes_of_two_sizes_are_nested(size: int, leaf: int, k: int, more: int) -> None:
    small, large = starts((size,), leaf, min(k, size)), starts((size,), leaf, min(k + more, size))
    assert set(large) <= set(small)


def test_a_node_is_not_divided_where_one_half_is_too_small() -> None:
    """Of 3 leaves the second half has two: as a node of its own it would overlap with the whole."""
    assert halves(30, 3) == (10, 1)
    assert starts((30,), 10, 20).tolist() == [0, 30]


@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.integers(1, 30), st.integers(1, 100))
def test_kinds_are_mixed_only_where_they_are_too_small(sizes: list[int], leaf: int, k: int) -> None:
    k = min(k, sum(sizes))
    found = starts(tuple(sizes), leaf, k)
    assert np.diff(found).min() >= k and found[-1] == sum(sizes)
    if min(sizes) >= k:
        assert set(np.cumsum(sizes)) <= set(found)


def test_an_empty_leaf_is_refused() -> None:
    with pytest.raises(InputError, match="at least 1 query"):
        starts((5,), 0, 1)
