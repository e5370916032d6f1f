"""Partitions by name: the built-in one, a file, or the one of a log, made on first use and kept."""

import functools
import os
from importlib.resources import as_file, files
from pathlib import Path

from quipukit.collections.load import collection_names, load_collection
from quipukit.covers.describe import Description
from quipukit.covers.make import make_partition
from quipukit.covers.partition import FORMAT, SUFFIX, Partition, read_partition
from quipukit.covers.pool import BUILT_IN, QueryPool
from quipukit.errors import FileError, InputError
from quipukit.executors.shared import loaded_by
from quipukit.io.logs import read_kinds, read_log_file
from quipukit.progress import Progress
from quipukit.storage import cache_home, locked

LEAF = 50


def load_pool(source: "str | os.PathLike[str]" = BUILT_IN) -> QueryPool:
    """Return a pool of public queries: that of a collection with a log of its own (``wordnet`` is built in), or a file.

    `io.logs` has the layout of files; a column ``source`` keeps queries apart that are written in different ways.
    """
    name = os.fspath(source)
    if name in collection_names():
        return QueryPool.of(load_collection(name).query_log(), name)
    path = Path(name)
    try:
        texts, counts = read_log_file(path)
        return QueryPool.of(texts, path.name, read_kinds(path), counts)
    except FileError:
        raise
    except InputError as fault:
        raise FileError(f"{path}: {fault}") from None


def load_partition(
    pool: "str | os.PathLike[str] | QueryPool" = BUILT_IN,
    partition: "str | os.PathLike[str] | None" = None,
    *,
    leaf: int = LEAF,
    description: Description | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return the partition of a pool: that of a file, the built-in one, or one that is made now and kept in the cache.

    ``leaf`` is the least number of queries in a group, ``description`` says what counts as alike: both for partitions
    that are made.
    """
    if pool == BUILT_IN and partition is None and leaf == LEAF and description is None:
        return _built_in()
    public = pool if isinstance(pool, QueryPool) else load_pool(pool)
    if partition is not None:
        return read_partition(partition, public)
    wanted = description or Description()
    name = f"{public.sha256[:32]}-{leaf}-{FORMAT}-{'-'.join(map(str, wanted.identity))}".replace("/", "_").replace(
        ":", "_"
    )
    kept = cache_home() / "covers" / f"{name}{SUFFIX}"
    with locked(kept):
        if not kept.is_file():
            make_partition(public, min(leaf, len(public)), wanted, progress).save(kept)
        found = read_partition(kept, public)
    if isinstance(pool, QueryPool):
        return found
    return loaded_by(found, functools.partial(load_partition, os.fspath(pool), leaf=leaf, description=description))


@functools.lru_cache(maxsize=1)
def _built_in() -> Partition:
    with as_file(files("quipukit.covers") / f"{BUILT_IN}{SUFFIX}") as path:
        return loaded_by(read_partition(path, load_pool(BUILT_IN)), _built_in)
