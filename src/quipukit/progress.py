"""Progress: how functions report what is done, who listens, and how long the stages of an experiment took."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from quipukit.storage import atomic_write

# Called with (done, total) now and then.
Progress = Callable[[float, float], None]


def part_of(progress: Progress | None, before: float, size: float, total: float) -> Progress | None:
    """Return the progress of one part, which has ``size`` of ``total``, as progress of the whole.

    >>> part_of(lambda done, total: print(done, "of", total), before=2, size=4, total=8)(50, 100)
    4.0 of 8
    """
    if progress is None:
        return None
    return lambda done, of: progress(before + size * done / (of or 1), total)


class ProgressListener:
    """Receives the stages of an experiment, their progress, and lines for the user; this one shows nothing."""

    def stage(self, name: str, unit: str) -> Progress:
        """Begin a stage, and return the function that receives its progress, counted in ``unit``."""
        return lambda done, total: None

    def say(self, line: str) -> None:
        """Receive a line for the user."""


@dataclass
class StageTiming:
    """How long a stage took, and how much it had to do."""

    stage: str
    unit: str
    seconds: float = 0.0
    amount: float = 0.0

    @property
    def rate(self) -> float:
        """Return how much was done in a second."""
        return self.amount / self.seconds if self.seconds else 0.0


@dataclass
class StageTimer:
    """Passes everything on to a listener, and measures the time of each stage."""

    listener: ProgressListener
    timings: dict[str, StageTiming] = field(default_factory=dict)

    @contextlib.contextmanager
    def stage(self, name: str, unit: str = "cells") -> Iterator[Progress]:
        """Time a stage; one that runs again adds to its timing."""
        report = self.listener.stage(name, unit)
        timing = self.timings.setdefault(name, StageTiming(name, unit))
        start, before = time.monotonic(), timing.amount

        def progress(done: float, total: float) -> None:
            timing.amount = before + done
            report(done, total)

        try:
            yield progress
        finally:
            timing.seconds += time.monotonic() - start

    @contextlib.contextmanager
    def stage_if_needed(self, name: str, unit: str = "cells") -> Iterator[Progress]:
        """Time a stage that begins with the first report of progress; without one there is no stage."""
        begun: list[Progress] = []
        with contextlib.ExitStack() as stack:

            def progress(done: float, total: float) -> None:
                if not begun:
                    begun.append(stack.enter_context(self.stage(name, unit)))
                begun[0](done, total)

            yield progress

    def save(self, path: Path) -> None:
        """Add the timings of this run to a file that holds those of earlier ones."""
        earlier = []
        with contextlib.suppress(OSError, ValueError):  # no result depends on them, so they are no reason to stop
            earlier = json.loads(path.read_text(encoding="utf-8"))
        timings = [asdict(timing) for timing in self.timings.values()]
        with atomic_write(path) as draft:
            draft.write_text(json.dumps([*earlier, timings], indent=1) + "\n", encoding="utf-8")
