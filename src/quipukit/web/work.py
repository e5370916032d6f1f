"""Threads of their own for what computes, and for what waits for engines, so that pages never wait behind either.

Few threads compute, however many clients ask: each takes some ten megabytes while it does, and an allocator keeps what
a thread has once used.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

COMPUTING = max(2, min(4, os.cpu_count() or 1))
WAITING = 16


class Workers:
    """Some threads that work on one queue, first come, first served. They end with the process, whatever they do."""

    def __init__(self, count: int, name: str) -> None:
        """Start so many threads when there is work for them."""
        self._count, self._name = count, name
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    async def run(self, do: Callable[[], _T]) -> _T:
        """Return what a function returns, or raise what it raises, without holding up the loop."""
        result: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._start()
        self._jobs.put((do, result))
        return await result

    def _start(self) -> None:
        with self._lock:
            if len(self._threads) < self._count:
                # Daemons: an engine that does not answer must not hold up the end of the service.
                thread = threading.Thread(
                    target=self._work, name=f"quipukit-{self._name}-{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()

    def _work(self) -> None:
        while True:
            do, result = self._jobs.get()
            if not result.cancelled():  # nobody waits any longer
                _settle(do, result)


def _settle(do: Callable[[], Any], result: "asyncio.Future[Any]") -> None:
    value: Any = None
    fault: BaseException | None = None
    try:
        value = do()
    except BaseException as raised:
        fault = raised

    def tell() -> None:
        if result.cancelled():
            return
        if fault is None:
            result.set_result(value)
        else:
            result.set_exception(fault)

    try:
        result.get_loop().call_soon_threadsafe(tell)
    except RuntimeError:
        return  # the loop has ended, and with it whoever asked
