"""Progress of work that is divided into parts, some of which may run elsewhere."""

import threading
from typing import Any

from quipukit.progress import Progress


class Tally:
    """Adds up what is done and reports it, in this process only: a copy that travels to another one is silent.

    A mapped function calls ``add`` while it works; its caller calls ``reach`` when a part has arrived, wherever it was
    computed.

    >>> Tally(print, 4).reach(3)
    3 4
    """

    def __init__(self, report: Progress | None, total: float) -> None:
        """Report to ``report`` (done, total)."""
        self._report = report
        self._total = total
        self._done = 0.0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Tally, (None, self._total))

    def add(self, amount: float) -> None:
        """Count something that is done; threads may do so side by side."""
        with self._lock:
            self._show(self._done + amount)

    def reach(self, done: float) -> None:
        """Set how much is done in total, including what ``add`` has counted."""
        with self._lock:
            self._show(max(self._done, done))

    def _show(self, done: float) -> None:
        self._done = done
        if self._report is not None:
            self._report(min(done, self._total), self._total)
