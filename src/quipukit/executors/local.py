"""Run everything in this process."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from quipukit.executors.base import Executor


class Local(Executor):
    """Runs one item after the other; the functions themselves use all cores by threads.

    >>> list(Local().map(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """

    in_process: ClassVar[bool] = True

    @property
    def slots(self) -> int:
        """Return 1: two items at once would fight for the same cores."""
        return 1

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (number of the item, result), in the order of the items."""
        for number, item in enumerate(items):
            yield number, function(item)
