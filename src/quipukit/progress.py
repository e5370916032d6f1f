"""What an experiment tells while it runs, and how long its stages took."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from quipukit.storage import atomic_write

Progress = Callable[[float, float], None]


class ProgressListener:
    """Is told of stages and their progress; this one keeps silent."""

    def stage(self, name: str, unit: str) -> Progress:
        """Begin a stage, and return what is to be told (done, total) of it, in ``unit``."""
        return lambda done, total: None

    def say(self, line: str) -> None:
        """Take note of a line for the user."""


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
    """Passes everything on to a watch, and takes the time of each stage."""

    watch: ProgressListener
    laps: dict[str, StageTiming] = field(default_factory=dict)

    @contextlib.contextmanager
    def stage(self, name: str, unit: str = "cells") -> Iterator[Progress]:
        """Run a stage under the clock; a stage that comes again adds to its lap."""
        tell = self.watch.stage(name, unit)
        lap = self.laps.setdefault(name, StageTiming(name, unit))
        begin, before = time.monotonic(), lap.amount

        def show(done: float, total: float) -> None:
            lap.amount = before + done
            tell(done, total)

        try:
            yield show
        finally:
            lap.seconds += time.monotonic() - begin

    def save(self, path: Path) -> None:
        """Add this session's laps to a file of all sessions."""
        past = []
        with contextlib.suppress(OSError, ValueError):  # of no use to a result, and so no reason to stop
            past = json.loads(path.read_text(encoding="utf-8"))
        session = [asdict(lap) for lap in self.laps.values()]
        with atomic_write(path) as draft:
            draft.write_text(json.dumps([*past, session], indent=1) + "\n", encoding="utf-8")
