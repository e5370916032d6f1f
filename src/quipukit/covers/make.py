"""Make the partition of a pool."""

from typing import Any

import numpy as np

from quipukit.covers.bisection import bisected
from quipukit.covers.describe import Description
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
    order, means = bisected(_Described(pool, encodings, description), leaf)
    return Partition(pool, order.astype(np.int32), leaf, packed(means), description, "bisection")


class _Described:
    """The descriptions of a pool, made where they are read."""

    def __init__(self, pool: QueryPool, encodings: Any, description: Description) -> None:
        self._pool, self._encodings, self._description = pool, encodings, description
        self.shape = (len(pool), description.joined(encodings[:1], pool.texts[:1]).shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        encodings = np.asarray(self._encodings[rows], np.float32)
        texts = [self._pool.texts[row] for row in np.arange(len(self))[rows].tolist()]
        return self._description.joined(encodings, texts)
