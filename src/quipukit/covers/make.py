"""Make the partition of a pool."""

import numpy as np

from quipukit.covers.bisection import Sides, bisected
from quipukit.covers.describe import Description
from quipukit.covers.forms import forms
from quipukit.covers.partition import Partition, packed
from quipukit.covers.pool import QueryPool
from quipukit.covers.tree import starts
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
    written = forms(pool.texts)
    kinds = [np.flatnonzero(pool.kinds == kind) for kind in range(int(pool.kinds.max()) + 1)]
    order, means = bisected(Sides(encodings, written, description.levels), kinds, leaf)
    begins = starts(tuple(map(len, kinds)), leaf, 1)
    usual = np.add.reduceat(written[order], begins[:-1], axis=0) / np.diff(begins)[:, None].astype(np.float32)
    return Partition(pool, order.astype(np.int32), leaf, packed(means), usual.astype(np.float16), description)
