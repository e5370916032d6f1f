"""The stages of an experiment as they run: bars on a terminal and in a notebook, plain lines on stderr elsewhere."""

import importlib
import sys
import time
from types import TracebackType
from typing import Any, Self

from quipukit.progress import Progress, ProgressListener
from quipukit.richtext import escaped
from quipukit.terminal import say, visible

_LINE_SECONDS = 10.0
_FRAME_SECONDS = 0.2


def in_notebook() -> bool:
    """Return whether a notebook shows what we print."""
    ask = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = type(ask()) if ask is not None else object
    return shell.__name__ == "ZMQInteractiveShell" or "google.colab" in shell.__module__


class ProgressView(ProgressListener):
    """Shows every stage with what is done, the rate and the time left."""

    @staticmethod
    def wanted() -> bool:
        """Return whether anyone watches: at a terminal or in a notebook, and not in the log of a script."""
        return sys.stderr.isatty() or in_notebook()

    def __init__(self) -> None:
        self._bars: Any = None
        self._current: _Stage | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._bars = _bars()
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the bars; what they showed last stays on the screen."""
        self._end_stage()
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def stage(self, name: str, unit: str) -> Progress:
        self._end_stage()
        if self._bars is not None:
            self._current = _Bar(self._bars, name, unit)
        else:
            self._current = _NotebookBar(name, unit) if in_notebook() else _Lines(name, unit)
        return self._current.update

    def say(self, line: str) -> None:
        say(line)

    def _end_stage(self) -> None:
        if self._current is not None:
            self._current.end()
            self._current = None


class _Stage:
    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit, self.start = name, unit, time.monotonic()
        self.done = 0.0

    def update(self, done: float, total: float) -> None:
        self.done = done

    def end(self) -> None:
        """Leave a line behind."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def rate(self) -> str:
        """Return how fast it goes, in words."""
        per_second = self.done / self.seconds if self.seconds > 0.5 else 0.0
        if per_second >= 10:
            return f"{per_second:,.0f} {self.unit}/s"
        return f"{per_second:.1f} {self.unit}/s" if per_second >= 0.1 else ""


class _Lines(_Stage):
    """A line when a stage has taken some seconds, and one when it is over."""

    def __init__(self, name: str, unit: str) -> None:
        super().__init__(name, unit)
        self._last = self.start

    def update(self, done: float, total: float) -> None:
        super().update(done, total)
        now = time.monotonic()
        if now - self._last >= _LINE_SECONDS and total:
            self._last = now
            # What is done first is rarely typical: an estimate from the first tenth misleads.
            left = f", about {self.seconds * (total - done) / done:.0f} s left" if done > 0.1 * total else ""
            say(f"{self.name}: {done:,.0f} of {total:,.0f} {self.unit}, {self.rate()}{left}")

    def end(self) -> None:
        what = f"{self.done:,.0f} {self.unit}, " if self.done else ""
        say(f"{self.name}: {what}{self.seconds:.1f} s")


class _NotebookBar(_Stage):
    """A bar in the output of a notebook's cell: plain HTML that is displayed again, so that no widgets are needed."""

    def __init__(self, name: str, unit: str) -> None:
        super().__init__(name, unit)
        self._last = 0.0
        self._display: Any = None

    def update(self, done: float, total: float) -> None:
        super().update(done, total)
        now = time.monotonic()
        if total and (now - self._last >= _FRAME_SECONDS or done >= total):
            self._last = now
            self._show(f"{done:,.0f} of {total:,.0f} {self.unit} {self.rate()}", done / total)

    def end(self) -> None:
        what = f"{self.done:,.0f} {self.unit}, " if self.done else ""
        self._show(f"{what}{self.seconds:.1f} s", None)

    def _show(self, text: str, share: float | None) -> None:
        notebook: Any = importlib.import_module("IPython.display")  # whose functions have no types
        bar = "" if share is None else f'<progress max="1" value="{share:.4f}"></progress> '
        page = notebook.HTML(f"<div>{escaped(self.name)}: {bar}{escaped(text)}</div>")
        if self._display is None:
            self._display = notebook.display(page, display_id=True)
        else:
            self._display.update(page)


class _Bar(_Stage):
    """A line of rich's progress display."""

    def __init__(self, bars: Any, name: str, unit: str) -> None:
        super().__init__(name, unit)
        self._bars = bars
        self._task = bars.add_task(visible(name), total=None, what="", rate="")

    def update(self, done: float, total: float) -> None:
        super().update(done, total)
        what = f"{done:,.0f} of {total:,.0f} {self.unit}"
        self._bars.update(self._task, completed=done, total=total, what=what, rate=self.rate())

    def end(self) -> None:
        self._bars.update(self._task, total=max(self.done, 1.0), completed=max(self.done, 1.0), rate=self.rate())
        self._bars.stop_task(self._task)


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[what]}"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True),
    )
