"""Division of a vocabulary into disjoint groups of near words."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.vectors.store import Vectors

_BATCH = 1024


@dataclass(frozen=True)
class Grouping:
    """Every word in exactly one group, of a size within `group_sizes`."""

    group_of: NDArray[np.int32]
    members: list[NDArray[np.int64]]
    centers: NDArray[np.float64]

    def group_of_place(self, point: NDArray[np.float64], row: int) -> NDArray[np.int64]:
        """Return the group of a word, or of a point that is no word: the one whose center is nearest."""
        if row >= 0:
            return self.members[self.group_of[row]]
        return self.members[int(np.argmin(np.square(self.centers - point).sum(axis=1)))]


def group_sizes(words: int, size: int) -> tuple[int, int]:
    """Return the least and the largest group that a vocabulary of this many words can have, without dividing it.

    >>> group_sizes(50_000, 10), group_sizes(24, 10), group_sizes(13, 10), group_sizes(3, 10)
    ((10, 10), (10, 14), (13, 13), (3, 3))
    """
    # Every group takes ``size`` words; those left over may all join the same one. Below two groups it is one of all.
    return (size, size + words % size) if words >= 2 * size else (words, words)


def group_words(vectors: Vectors, size: int, similarity: str = "euclidean") -> Grouping:
    """Divide a vocabulary into groups, by a rule that looks at nothing but the vectors and their public order.

    The first word without a group is an anchor: it and its ``size`` - 1 nearest words without a group form one.
    Words left over at the end, fewer than ``size``, join the group of their nearest anchor.
    """

    def build() -> Grouping:
        group_of = vectors.derived_on_disk(
            f"groups-{size}-{similarity}", lambda: _assign(_comparable(vectors, similarity), size)
        )
        order = np.argsort(group_of, kind="stable")
        bounds = np.searchsorted(group_of[order], np.arange(1, group_of.max() + 1))
        members = np.split(order, bounds)
        centers = np.array([vectors.matrix[rows].mean(axis=0, dtype=np.float64) for rows in members])
        return Grouping(group_of, members, centers)

    return vectors.derived(("grouping", size, similarity), build)


def _comparable(vectors: Vectors, similarity: str) -> NDArray[np.float32]:
    if similarity == "euclidean":
        return vectors.matrix
    lengths = np.sqrt(2 * vectors.half_norms)[:, None].astype(np.float32)
    # On the unit sphere the order by distance is the order by cosine.
    return np.divide(vectors.matrix, lengths, out=np.zeros(vectors.matrix.shape, np.float32), where=lengths > 0)


def _assign(matrix: NDArray[np.float32], size: int) -> NDArray[np.int32]:
    """Return the number of the group of every row.

    Anchors are searched in batches: each gets a list of its nearest free words when the batch begins, and takes
    the first ones that are still free when its turn comes. A list that runs out is computed again.
    """
    from quipukit.vectors.nearest import top_k

    group_of = np.full(len(matrix), -1, np.int32)
    free = np.arange(len(matrix))
    anchors: list[int] = []
    while len(free) >= size:
        batch = free[: max(1, min(_BATCH, len(free) // (8 * size)))]
        lists = _nearest_free(matrix, free, batch, min(len(free), 5 * size + 16))
        for anchor, near in zip(batch, lists, strict=True):
            if group_of[anchor] >= 0:
                continue
            taken = near[group_of[near] < 0][:size]
            if len(taken) < size:
                free = np.flatnonzero(group_of < 0)
                if len(free) < size:
                    break
                taken = _nearest_free(matrix, free, anchor[None], size)[0]
            if anchor not in taken:  # twins of the anchor in lower rows can crowd it out of its own list
                taken[-1] = anchor
            group_of[taken] = len(anchors)
            anchors.append(int(anchor))
        free = np.flatnonzero(group_of < 0)
    if anchors and len(free):
        places = matrix[anchors]
        group_of[free] = top_k(places, _half_norms(places), matrix[free].astype(np.float64), 1)[:, 0]
    else:
        group_of[free] = 0
    return group_of


def _nearest_free(
    matrix: NDArray[np.float32], free: NDArray[np.int64], anchors: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    from quipukit.vectors.nearest import top_k

    places = matrix[free]
    return free[top_k(places, _half_norms(places), matrix[anchors].astype(np.float64), count)]


def _half_norms(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64) / 2
