"""The executor that runs functions on dask workers."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from quipukit.errors import InputError
from quipukit.executors.base import Executor
from quipukit.executors.folder import SharedFolder

if TYPE_CHECKING:
    from quipukit.executors.dask.pool import WorkerPool


class Dask(Executor):
    """The workers of a dask cluster: of the one at ``address``, or as many processes of this machine as ``workers``.

    The result is the same, to the byte, as in one process, where all machines are of one kind. A script that asks for
    processes must guard its own start with ``if __name__ == "__main__":``.

    ``shared`` is a folder that this process and all workers see under the same path: vectors are written and read
    there, and need not pass through this process.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        shared: "str | os.PathLike[str] | None" = None,
    ) -> None:
        """Choose the workers; they are started or looked for when the executor is first opened."""
        if (address is None) == (workers is None):
            raise InputError("give the address of a dask scheduler or a number of workers, one of the two.")
        if workers is not None and workers < 1:
            raise InputError(f"workers must be a whole number of at least 1 (found {workers!r}).")
        from quipukit.executors.dask.cluster import load_distributed

        load_distributed()  # a missing package is reported at once, not after everything else is loaded
        self.address = address
        self.workers = workers
        self.shared = None if shared is None else SharedFolder.open(shared)
        self._opened = 0
        self._closing = contextlib.ExitStack()
        self._pool: WorkerPool | None = None

    def __repr__(self) -> str:
        return f"Dask({self.address!r})" if self.workers is None else f"Dask(workers={self.workers})"

    @property
    def slots(self) -> int:
        """Return how many threads the workers have together."""
        return (self.workers or 1) if self._pool is None else self._pool.slots

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (number of the item, result) as the results arrive."""
        with self:
            if self._pool is None:
                raise RuntimeError("the executor was closed while it was used")
            yield from self._pool.map(function, items)

    def __enter__(self) -> Self:
        if not self._opened:
            with contextlib.ExitStack() as stack:
                self._pool = self._open(stack)
                self._closing = stack.pop_all()
        self._opened += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened -= 1
        if not self._opened:
            self._pool = None
            self._closing.close()

    def _open(self, stack: contextlib.ExitStack) -> "WorkerPool":
        from quipukit.executors.dask.cluster import connected, local_cluster, quiet_logs
        from quipukit.executors.dask.pool import WorkerPool

        stack.enter_context(quiet_logs())
        place = stack.enter_context(local_cluster(self.workers)) if self.workers is not None else str(self.address)
        client = stack.enter_context(connected(place))
        pool = WorkerPool(client, place if self.workers is None else "this machine")
        stack.callback(pool.release)
        pool.verify()
        if self.shared is not None:
            pool.verify_folder(self.shared.path)
        return pool
