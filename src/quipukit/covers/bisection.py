"""Order queries so that alike ones stand together: divide them in two, again and again, along what sets them apart.

A set of vectors is divided across its first principal component, into parts whose sizes `tree` prescribes. The axis is
found on a sample of the rows, so that a node with millions costs little more than reading it. In the order that
results, every node of the tree is an interval; within a leaf the most typical queries (nearest to its mean) come first.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.tree import halves
from quipukit.progress import Progress
from quipukit.threads import in_threads

Singles = NDArray[np.float32]
Rows = NDArray[np.int64]

_SAMPLE = 4096  # rows on which an axis is found
_STEPS = 12  # of the power method
_BLOCK = 65_536  # rows that are read at a time
_IN_MEMORY = 262_144  # rows of a node that are copied into memory, where all nodes below it are made


def bisected(vectors: Any, leaf: int, progress: Progress | None = None) -> tuple[Rows, Singles]:
    """Return the rows of some vectors in order, and the mean of every leaf, one line for each.

    ``vectors`` has a length and gives its rows by slices and arrays of numbers; it may lie on disk.
    """
    count = len(vectors)
    done = 0
    orders, means = [], []
    for part in _large(vectors, np.arange(count), count // leaf):
        order, mean = part
        orders.append(order)
        means.append(mean)
        done += len(order)
        if progress:
            progress(done, count)
    return np.concatenate(orders), np.concatenate(means)


def _large(vectors: Any, rows: Rows, leaves: int) -> Iterator[tuple[Rows, Singles]]:
    """Divide a node whose vectors stay where they are, until what is left fits into memory."""
    if len(rows) <= _IN_MEMORY:
        matrix = np.empty((len(rows), vectors.shape[1]), np.float32)
        for start in range(0, len(rows), _BLOCK):
            matrix[start : start + _BLOCK] = vectors[rows[start : start + _BLOCK]]
        yield from _small(matrix, rows, leaves)
        return
    axis = _axis(np.asarray(vectors[rows[:: -(-len(rows) // _SAMPLE)]], np.float32))
    blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    along = np.concatenate(list(in_threads(lambda some: np.asarray(vectors[some], np.float32) @ axis, blocks)))
    for part, own in _divided(along, leaves):
        yield from _large(vectors, np.sort(rows[part]), own)  # in the order of the file: it is read faster


def _small(matrix: Singles, rows: Rows, leaves: int) -> Iterator[tuple[Rows, Singles]]:
    """Divide a node in memory; of what comes first, the other half waits."""
    waiting = [(np.arange(len(rows)), leaves)]
    orders, means = [], []
    while waiting:
        some, own = waiting.pop()
        if own == 1:
            mean = matrix[some].mean(axis=0, dtype=np.float64).astype(np.float32)
            far = ((matrix[some] - mean) ** 2).sum(axis=1)
            orders.append(rows[some[np.lexsort((some, far))]])
            means.append(mean)
            continue
        mine = matrix[some]
        along = mine @ _axis(mine[:: -(-len(some) // _SAMPLE)])
        first, second = _divided(along, own)
        waiting.append((some[second[0]], second[1]))
        waiting.append((some[first[0]], first[1]))
    yield np.concatenate(orders), np.array(means)


def _divided(along: Singles, leaves: int) -> "list[tuple[Rows, int]]":
    """Return both halves of a node, each with its number of leaves: the lower places along the axis, then the others.

    Level ones are divided by their row, so that a pool of equal vectors has a partition too.
    """
    cut, first = halves(len(along), leaves)
    order = np.argsort(along, kind="stable")
    return [(order[:cut], first), (order[cut:], leaves - first)]


def _axis(sample: Singles) -> Singles:
    """Return the direction in which a sample varies most, by the power method from a fixed beginning."""
    centered = sample - sample.mean(axis=0)
    axis = np.random.default_rng(len(centered[0])).standard_normal(centered.shape[1]).astype(np.float32)
    for _ in range(_STEPS):
        axis = (centered @ axis) @ centered
        length = float(np.linalg.norm(axis))
        if length == 0:  # all alike: any direction will do
            return np.ones(centered.shape[1], np.float32)
        axis = axis / np.float32(length)
    return axis
