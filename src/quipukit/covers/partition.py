"""A partition: the queries of a pool in fixed groups, made once from public data, and the group of any query.

A partition is a file. Computing it again would not give the same one (noise of 1e-7 in the encodings moves 8 % of the
members), and whoever compares what two partitions send learns more than either tells.
"""

import functools
import hashlib
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.describe import Description
from quipukit.covers.pool import QueryPool
from quipukit.covers.tree import Places, starts
from quipukit.errors import FileError, InputError
from quipukit.executors.shared import Shared
from quipukit.storage import atomic_write

SUFFIX = ".cover"
FORMAT = 2


@dataclass(frozen=True, eq=False)
class Partition(Shared):
    """A pool in an order in which every node of a balanced tree is an interval (`tree`), and what its leaves are like.

    ``order`` holds rows of the pool; ``means`` and ``usual`` have a line for each leaf: what its queries mean, and how
    they are written, by which queries outside the pool are placed.
    """

    kind = "partition"

    pool: QueryPool
    order: NDArray[np.int32]
    leaf: int
    means: NDArray[np.int8]
    usual: NDArray[np.float16]
    description: Description

    def __post_init__(self) -> None:
        """Refuse what is no partition of this pool."""
        if len(self.order) != len(self.pool) or not np.array_equal(np.sort(self.order), np.arange(len(self.pool))):
            raise InputError("the partition does not hold every query of its pool once; make it again.")
        if (np.diff(self.pool.kinds[self.order]) < 0).any():
            raise InputError("the partition mixes the kinds of queries that its pool has; make it again.")
        if not len(self.means) == len(self.usual) == len(self.leaves) - 1:
            raise InputError("the partition does not describe each of its leaves; make it again.")

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over the pool, its order, and how other queries are placed."""
        said = json.dumps([FORMAT, self.pool.sha256, self.leaf, *self.description.identity])
        total = hashlib.sha256(said.encode())
        total.update(np.ascontiguousarray(self.order, np.int32).data)
        total.update(np.ascontiguousarray(self.means).data)
        total.update(np.ascontiguousarray(self.usual, np.float16).data)
        return total.hexdigest()

    # --- groups ---

    @property
    def leaves(self) -> Places:
        """Return where the leaves begin, in the order, and where the last one ends."""
        return starts(self._sizes, self.leaf, 1)

    def starts(self, k: int) -> Places:
        """Return where the groups of at least ``k`` queries begin, in the order, and where the last one ends."""
        if k > len(self.pool):
            raise InputError(
                f"the pool has {len(self.pool):,} queries, fewer than the {k:,} of one group; give a larger pool, or "
                "ask for smaller groups."
            )
        return starts(self._sizes, self.leaf, k)

    def group_of(self, text: str, k: int) -> int:
        """Return the number of a query's group, in the pool or not."""
        return int(self.groups_of([text], k)[0])

    def groups_of(self, texts: "list[str]", k: int) -> Places:
        """Return the numbers of the groups of queries: their own, where they are in the pool, else the nearest leaf's.

        It is a function of the query and of the partition alone.
        """
        places = np.empty(len(texts), np.int64)
        rows = np.array([self.pool.row(text) for text in texts], np.int64)
        inside = rows >= 0
        places[inside] = self._places[rows[inside]]
        outside = np.flatnonzero(~inside)
        if len(outside):
            places[outside] = self.leaves[self._nearest_leaves([texts[number] for number in outside])]
        return np.searchsorted(self.starts(k), places, side="right") - 1

    def members(self, group: int, k: int, most: int | None = None) -> list[str]:
        """Return the queries of a group; at most ``most`` of them: the most typical ones of its leaves, by turns."""
        begin, end = self.starts(k)[group : group + 2]
        places = np.arange(begin, end)
        if most is not None and most < len(places):
            leaf = np.searchsorted(self.leaves, places, side="right") - 1
            turn = places - self.leaves[leaf]
            places = places[np.lexsort((leaf, turn))[:most]]
        return [self.pool.texts[row] for row in self.order[places].tolist()]

    @functools.cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(np.bincount(self.pool.kinds).tolist())

    @functools.cached_property
    def _places(self) -> Places:
        places = np.empty(len(self.order), np.int64)
        places[self.order] = np.arange(len(self.order))
        return places

    # --- queries outside the pool ---

    def _nearest_leaves(self, texts: "list[str]") -> Places:
        means, usual = self._unit_means, self.usual.astype(np.float32)
        nearest = np.empty(len(texts), np.int64)
        for start in range(0, len(texts), 1024):
            nearest[start : start + 1024] = self.description.nearest(texts[start : start + 1024], means, usual)
        return nearest

    @functools.cached_property
    def _unit_means(self) -> NDArray[np.float32]:
        means = self.means.astype(np.float32)
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)

    # --- as a file ---

    def save(self, path: "str | os.PathLike[str]") -> str:
        """Write the partition (not its pool) to a file, and return the file's SHA-256."""
        header = {
            "format": FORMAT,
            "pool": self.pool.sha256,
            "queries": len(self.pool),
            "leaf": self.leaf,
            "description": self.description.identity,
        }
        with atomic_write(Path(path)) as draft, draft.open("wb") as file:
            said = np.frombuffer(json.dumps(header).encode(), np.uint8)
            np.savez_compressed(file, header=said, order=self.order, means=self.means, usual=self.usual)
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def read_partition(path: "str | os.PathLike[str]", pool: QueryPool) -> Partition:
    """Read a partition of a pool; one of another pool, or of a pool that has changed since, is refused."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header: dict[str, Any] = json.loads(arrays["header"].tobytes())
            if header["format"] != FORMAT:
                raise FileError(f"{path}: was written by another version of quipukit; make it again.")
            order, means = arrays["order"].astype(np.int32), arrays["means"].astype(np.int8)
            usual = arrays["usual"].astype(np.float16)
        if header["pool"] != pool.sha256:
            raise FileError(
                f"{path}: is a partition of {header['queries']:,} other queries than the {len(pool):,} of {pool.name}; "
                "give the pool that it was made for, or make a new partition."
            )
        return Partition(pool, order, int(header["leaf"]), means, usual, Description(*header["description"]))
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file.") from None
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as fault:
        if isinstance(fault, FileError):
            raise
        raise FileError(
            f"{path}: is no partition that quipukit wrote ({type(fault).__name__}); make it again."
        ) from None


def packed(means: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return vectors with 8 bits a number: where the nearest of them is sought, no more is needed."""
    largest = np.maximum(np.abs(means).max(axis=1, keepdims=True), 1e-12)
    return np.round(means / largest * 127).astype(np.int8)
