"""Worker threads: how many, and a pool in which the BLAS keeps to one thread."""

import functools
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
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


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Return a context in which matrix products of this process take one thread each."""
    limits: AbstractContextManager[Any] = _blas(len(sys.modules)).limit(limits=1, user_api="blas")
    return limits


def in_threads(task: Callable[[Any], _T], items: Iterable[Any]) -> list[_T]:
    """Run a task over items in one pool of threads, each with a single-threaded BLAS.

    One level of parallelism: threaded BLAS calls inside a pool fight for the same cores. A single item needs no pool.
    """
    items = list(items)
    with single_threaded_blas():
        count = min(workers(), len(items))
        if count <= 1:
            return [task(item) for item in items]
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(task, items))


def iter_in_threads(task: Callable[[Any], _T], items: Iterable[Any], held: int = 64) -> Iterator[_T]:
    """Run a task as `in_threads` does, and iterate over the results in order: no more than ``held`` are kept at a time.

    For results that are large beside what they are made of, and are only added up.
    """
    items = list(items)
    for start in range(0, len(items), held):
        yield from in_threads(task, items[start : start + held])


def ahead(task: Callable[[Any], _T], items: Iterable[Any], held: int = 16) -> Iterator[_T]:
    """Run a task without matrix products in threads, and iterate over the results in order.

    Threads go on while a result is used. Items are taken as they are needed, and no more than ``held`` of them at a
    time.

    >>> list(ahead(abs, [-1, 2, -3], held=2))
    [1, 2, 3]
    """
    count, waiting = workers(), deque[Future[_T]]()
    if count == 1:
        yield from map(task, items)
        return
    with ThreadPoolExecutor(count) as pool:
        for item in items:
            waiting.append(pool.submit(task, item))
            if len(waiting) == held:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
