"""What an executor is: `map` a function over items, wherever it runs."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Self

from quipukit.executors.folder import SharedFolder

# Parts per slot: no slot waits for the slowest part of the others, and few parts wait at the same time.
AHEAD = 3

WORKER: ContextVar[str] = ContextVar("quipukit_worker", default="this process")


def current_worker() -> str:
    """Return the name of the process that a mapped function runs in."""
    return WORKER.get()


class Executor(ABC):
    """Runs a function over items.

    An executor is a context manager, and opening it twice is harmless: the innermost ``with`` closes nothing, so that
    a function can write ``with executor:`` whoever opened it before.
    """

    in_process: ClassVar[bool] = False  # whether functions run in this process, and nothing is copied
    shared: SharedFolder | None = None  # a folder that all workers see, where there is one

    @property
    @abstractmethod
    def slots(self) -> int:
        """Return how many items are worked on at the same time."""

    @abstractmethod
    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (number of the item, result) as the results arrive; items are taken as they are needed.

        ``function`` stands in a module. Items are anything that pickle can write; heavy resources inside them
        (`shared.Shared`) are loaded once by every worker.
        """

    def parts(self, jobs: int = 1) -> int:
        """Return into how many parts each of some jobs is to be divided, so that all slots are busy."""
        return 1 if self.in_process else max(1, math.ceil(AHEAD * self.slots / max(1, jobs)))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def slices(count: int, parts: int, least: int = 1, most: int | None = None) -> list[slice]:
    """Divide a number of things evenly into parts of at least ``least`` and at most ``most``.

    >>> slices(10, 3), slices(10, 9, least=4), slices(10, 1, most=4)
    ([slice(0, 4, None), slice(4, 7, None), slice(7, 10, None)], [slice(0, 5, None), slice(5, 10, None)],
     [slice(0, 4, None), slice(4, 7, None), slice(7, 10, None)])
    """
    parts = max(1, min(parts, count // least))
    if most is not None:
        parts = max(parts, -(-count // most))
    size, longer = divmod(count, parts)
    starts = [part * size + min(part, longer) for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in itertools.pairwise(starts)]
