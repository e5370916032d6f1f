"""Worker threads: how many, and a pool in which the BLAS keeps to one thread."""

import functools
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")


def workers() -> int:
    """Return the number of threads to use: the cores this process may run on."""
    chosen = os.environ.get("QUIPUKIT_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.lru_cache(maxsize=1)
def _blas(modules: int) -> Any:
    """Return what controls the BLAS libraries of this process.

    To find them, all that the process has mapped must be looked through: some milliseconds, more than many a task
    takes. A further library can only come with a further module, so the search is repeated when ``modules`` changes.
    """
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def in_threads(task: Callable[[Any], _T], items: Iterable[Any]) -> list[_T]:
    """Run a task over items in one pool of threads, each with a single-threaded BLAS.

    One level of parallelism: threaded BLAS calls inside a pool fight for the same cores. A single item needs no pool.
    """
    items = list(items)
    with _blas(len(sys.modules)).limit(limits=1, user_api="blas"):
        count = min(workers(), len(items))
        if count <= 1:
            return [task(item) for item in items]
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(task, items))


def iter_in_threads(task: Callable[[Any], _T], items: Iterable[Any], held: int = 64) -> Iterator[_T]:
    """Run a task as `in_threads` does, and iterate over the results in order: no more than ``held`` are kept at a time.

    For items or results that are large, and are only added up; items are taken as they are needed.
    """
    rest = iter(items)
    while some := list(itertools.islice(rest, held)):
        yield from in_threads(task, some)
