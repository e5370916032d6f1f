"""Make the partition of a pool."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from quipukit.covers.bisection import Sides, bisected
from quipukit.covers.describe import Description
from quipukit.covers.forms import forms
from quipukit.covers.partition import Partition, packed
from quipukit.covers.pool import QueryPool
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore
from quipukit.errors import InputError
from quipukit.progress import Progress

LEAST = 2  # queries in a leaf: one would stand for itself


def make_partition(
    pool: QueryPool, leaf: int = 50, description: Description | None = None, progress: Progress | None = None
) -> Partition:
    """Divide a pool into groups of at least ``leaf`` queries that are alike.

    The encodings of the pool are kept (`EncodingStore`): its queries are public, all of them are encoded, and another
    partition of the same pool finds them there.
    """
    if leaf < LEAST:
        raise InputError(f"a group needs at least {LEAST} queries (found {leaf}): a query alone hides among none.")
    if leaf > len(pool):
        raise InputError(f"the pool has {len(pool):,} queries, fewer than the {leaf:,} of one group.")
    description = description or Description()
    encodings = EncodingStore(load_encoder(description.encoder)).ensure(pool.texts, "query", progress)
    sides = Sides(_Read(pool, encodings, description), _Forms(pool), description.levels)
    kinds = [np.flatnonzero(pool.kinds == kind) for kind in range(int(pool.kinds.max()) + 1)]
    order, means = bisected(sides, kinds, leaf)
    return Partition(pool, order.astype(np.int32), leaf, packed(means), description)


@dataclass(frozen=True, eq=False)
class _Read:
    """The descriptions of a pool, made where they are read."""

    pool: QueryPool
    encodings: Any
    description: Description

    @functools.cached_property
    def shape(self) -> tuple[int, int]:
        return len(self.pool), self.description.joined(self.encodings[:1], self.pool.texts[:1]).shape[1]

    def __getitem__(self, rows: Any) -> Any:
        encodings = np.asarray(self.encodings[rows], np.float32)
        return self.description.joined(encodings, [self.pool.texts[row] for row in rows.tolist()])


@dataclass(frozen=True, eq=False)
class _Forms:
    """The forms of a pool's queries, made where they are read."""

    pool: QueryPool

    def __getitem__(self, rows: Any) -> Any:
        return forms([self.pool.texts[row] for row in rows.tolist()])
