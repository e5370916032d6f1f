"""What `evaluate` shows of itself: something on a terminal and in a notebook, nothing in a script."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quipukit.experiment import progress_view
from quipukit.progress import Progress, ProgressListener
from tests.experiment import tiny
from tests.experiment.conftest import SMALL


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class ZMQInteractiveShell:
    """What a notebook runs in."""


def shown_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Put a stream in the place of stderr: in the test itself, for pytest takes its own back after the set-up."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


@pytest.fixture
def again(village: Path, small_copy: Path) -> Callable[..., None]:
    """Obfuscates once more in a finished run; what follows from the same texts is there."""

    def run(**more: Any) -> None:
        for path in small_copy.glob("artifacts/obfuscated/*.parquet"):
            path.unlink()
        tiny.run(village, small_copy, **SMALL, **more)

    return run


def test_a_script_stays_silent(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = shown_on(io.StringIO(), monkeypatch)
    again()
    assert stderr.getvalue() == ""


def test_a_terminal_shows_the_stages(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(Screen(), monkeypatch)
    again(progress=False)
    assert screen.getvalue() == ""
    again()
    assert "obfuscating" in screen.getvalue() and "\x1b[" in screen.getvalue()


def test_a_notebook_shows_the_stages(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = shown_on(io.StringIO(), monkeypatch)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setattr(progress_view, "find_spec", lambda name: None)
    again(progress=False)
    assert stderr.getvalue() == ""
    again()
    assert "obfuscating: " in stderr.getvalue() and "\x1b[" not in stderr.getvalue()


def test_a_watch_is_told_instead(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener(ProgressListener):
        told: list[str] = []  # noqa: RUF012

        def stage(self, name: str, unit: str) -> Progress:
            self.told.append(name)
            return super().stage(name, unit)

    screen = shown_on(Screen(), monkeypatch)
    again(progress=Listener())
    assert "obfuscating" in Listener.told and screen.getvalue() == ""
