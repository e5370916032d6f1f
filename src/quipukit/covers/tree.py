"""A balanced binary tree over some number of places, and the disjoint nodes that hold k places or more.

Each node is an interval of places; where it is divided follows from its size alone. So a partition of a pool is nothing
but an order of its queries: those of a node follow one another.
"""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import InputError

Places = NDArray[np.int64]


def halves(size: int, leaves: int) -> tuple[int, int]:
    """Return how many places the first half of a node has, and how many of its leaves are there.

    Of a node with at least ``k`` places for each leaf, each half has at least ``k`` for each of its own.

    >>> halves(103, 10), halves(31, 3)
    ((51, 5), (10, 1))
    """
    first = leaves // 2
    return size * first // leaves, first


@functools.lru_cache(maxsize=64)
def starts(sizes: tuple[int, ...], leaf: int, k: int) -> Places:
    """Return where the nodes with at least ``k`` places begin, and, as the last number, where the last one ends.

    ``sizes`` are those of the kinds of places: one kind follows the other, and as long as there are enough places of a
    kind no node has several. Leaves have ``leaf`` places or a few more; fewer only where a kind has fewer. A node is
    divided only where *both* halves keep ``k``: if one of them could be a node while the other belongs to both
    together, nodes would overlap, and fewer than ``k`` queries would share one.

    >>> starts((100,), 10, 25).tolist(), starts((100,), 10, 20).tolist()
    ([0, 50, 100], [0, 20, 50, 70, 100])
    >>> starts((40, 5, 55), 10, 20).tolist()
    [0, 20, 40, 100]
    """
    total = sum(sizes)
    if leaf < 1 or total < 1:
        raise InputError(f"a leaf must have at least 1 query, and there must be some (found {leaf} of {total:,}).")
    return np.array([*(begin for begin, _ in _of_kinds(0, sizes, leaf, k)), total], np.int64)


def _of_kinds(begin: int, sizes: tuple[int, ...], leaf: int, k: int) -> Iterator[tuple[int, int]]:
    if len(sizes) == 1:
        yield from _nodes(begin, sizes[0], max(1, sizes[0] // leaf), k)
        return
    first, second = sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]
    if min(sum(first), sum(second)) < k:
        yield begin, begin + sum(sizes)
        return
    yield from _of_kinds(begin, first, leaf, k)
    yield from _of_kinds(begin + sum(first), second, leaf, k)


def _nodes(begin: int, size: int, leaves: int, k: int) -> Iterator[tuple[int, int]]:
    if leaves > 1:
        first, count = halves(size, leaves)
        if min(first, size - first) >= k:
            yield from _nodes(begin, first, count, k)
            yield from _nodes(begin + first, size - first, leaves - count, k)
            return
    yield begin, begin + size
