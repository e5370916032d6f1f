"""Representatives that find much: the queries of each leaf, ordered by what they add to what is found.

Where only some queries of a group are sent, the best ones to send are not the most typical ones but those whose results
hold most of what the whole group finds. That can be computed ahead, from public data: from what every query of the pool
finds in a public collection. Who belongs to which group does not change, and so neither does what is promised.
"""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.partition import Partition
from quipukit.errors import InputError

DEPTH = 10  # results of a query that count
_NOTHING = -1


def covering(partition: Partition, found: "Sequence[Sequence[str]]") -> Partition:
    """Return the partition with the queries in each leaf in another order: first those that find most for all of them.

    ``found`` holds what every query of the pool finds, in the order of the pool. Each next query is the one that adds
    most to the share of its own results that an average query of the leaf finds among what is pooled; where none adds
    anything, the most typical one.
    """
    if len(found) != len(partition.pool):
        raise InputError(
            f"there must be results for each of the {len(partition.pool):,} queries of the pool (found {len(found):,})."
        )
    documents = _numbered(found)
    order, leaves = partition.order, partition.leaves
    pieces = [
        order[begin:end][_greedy(documents[order[begin:end]])] for begin, end in itertools.pairwise(leaves.tolist())
    ]
    return dataclasses.replace(partition, order=np.concatenate(pieces))


def _numbered(found: "Sequence[Sequence[str]]") -> NDArray[np.int64]:
    """Return a line of document numbers for every query, filled up with `_NOTHING`."""
    numbers: dict[str, int] = {}
    lines = np.full((len(found), max(map(len, found), default=0)), _NOTHING, np.int64)
    for line, documents in zip(lines, found, strict=True):
        own = [numbers.setdefault(document, len(numbers)) for document in dict.fromkeys(documents)]
        line[: len(own)] = own
    return lines


def _greedy(documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lines in the order in which each adds most; of level ones the first.

    >>> _greedy(np.array([[1, 2], [3, 4], [3, 5], [5, 4]])).tolist()
    [1, 0, 2, 3]
    """
    distinct, inverse = np.unique(documents, return_inverse=True)
    places = inverse.reshape(documents.shape)
    real = documents != _NOTHING
    share = real / np.maximum(real.sum(axis=1, keepdims=True), 1)
    left = np.bincount(places.ravel(), share.ravel(), minlength=len(distinct))
    waiting = np.ones(len(documents), bool)
    order = np.empty(len(documents), np.int64)
    for turn in range(len(documents)):
        adds = np.where(waiting, left[places].sum(axis=1), -1.0)
        order[turn] = chosen = int(np.argmax(np.round(adds, 9)))
        waiting[chosen] = False
        left[places[chosen]] = 0.0
    return order
