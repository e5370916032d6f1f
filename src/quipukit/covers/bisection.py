"""Order queries so that alike ones stand together: divide them in two, again and again, along what sets them apart.

A set of vectors is divided across its first principal component, into parts whose sizes `tree` prescribes. The axis is
found on a sample of the rows, so that a node with millions costs little more than reading it. In the order that
results, every node of the tree is an interval; within a leaf the most typical queries (nearest to its mean) come first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Sides:
    """What queries are divided by: their forms at the first ``levels`` of the tree, their meaning from there on.

    Each has a length and a shape, and gives its rows by slices and arrays of numbers; they may lie on disk.
    """

    meaning: Any
    form: Any = None
    levels: int = 0

    def at(self, level: int) -> Any:
        """Return the vectors by which a node of some level is divided."""
        return self.form if level < self.levels else self.meaning


def bisected(
    sides: Sides, kinds: "Sequence[Rows]", leaf: int, progress: Progress | None = None
) -> tuple[Rows, Singles]:
    """Return the rows in order, kind after kind, and the mean meaning of every leaf, one line for each."""
    count, done = sum(map(len, kinds)), 0
    orders, means = [], []
    for rows in kinds:
        for order, mean in _large(sides, rows, max(1, len(rows) // leaf), 0):
            orders.append(order)
            means.append(mean)
            done += len(order)
            if progress:
                progress(done, count)
    return np.concatenate(orders), np.concatenate(means)


def _large(sides: Sides, rows: Rows, leaves: int, level: int) -> Iterator[tuple[Rows, Singles]]:
    """Divide a node whose vectors stay where they are, until it fits into memory and its form has had its say."""
    if leaves == 1 or (len(rows) <= _IN_MEMORY and level >= sides.levels):
        matrix = np.empty((len(rows), sides.meaning.shape[1]), np.float32)
        for start in range(0, len(rows), _BLOCK):
            matrix[start : start + _BLOCK] = sides.meaning[rows[start : start + _BLOCK]]
        yield _small(matrix, rows, leaves)
        return
    vectors = sides.at(level)
    axis = _axis(np.asarray(vectors[rows[:: -(-len(rows) // _SAMPLE)]], np.float32))
    blocks = [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]
    along = np.concatenate(list(in_threads(lambda some: np.asarray(vectors[some], np.float32) @ axis, blocks)))
    for part, own in _divided(along, leaves):
        yield from _large(sides, np.sort(rows[part]), own, level + 1)  # in the order of the file: it is read faster


def _small(matrix: Singles, rows: Rows, leaves: int) -> tuple[Rows, Singles]:
    """Divide a node in memory, the first half before the second."""
    waiting = [(np.arange(len(rows)), leaves)]
    orders, means = [], []
    while waiting:
        some, own = waiting.pop()
        mine = matrix[some]
        if own == 1:
            mean = mine.mean(axis=0, dtype=np.float64).astype(np.float32)
            far = ((mine - mean) ** 2).sum(axis=1)
            orders.append(rows[some[np.lexsort((some, far))]])
            means.append(mean)
            continue
        first, second = _divided(mine @ _axis(mine[:: -(-len(some) // _SAMPLE)]), own)
        waiting.append((some[second[0]], second[1]))
        waiting.append((some[first[0]], first[1]))
    return np.concatenate(orders), np.array(means)


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
