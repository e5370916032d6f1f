"""What `evaluate` shows of itself: something on a terminal and in a notebook, nothing in a script."""

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quipukit.experiment import progress_view
from quipukit.progress import Progress, ProgressListener
from tests.experiment import tiny


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


def small(village: Path, **more: Any) -> None:
    tiny.run(village, specs=["CMP@5"], **more)


def test_a_script_stays_silent(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = shown_on(io.StringIO(), monkeypatch)
    small(village)
    assert stderr.getvalue() == ""


def test_a_terminal_shows_the_stages(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = shown_on(Screen(), monkeypatch)
    small(village, progress=False)
    assert screen.getvalue() == ""
    small(village)
    assert "obfuscating" in screen.getvalue() and "\x1b[" in screen.getvalue()


def test_a_notebook_shows_the_stages(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = shown_on(io.StringIO(), monkeypatch)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setattr(progress_view, "find_spec", lambda name: None)
    small(village, progress=False)
    assert stderr.getvalue() == ""
    small(village)
    assert "obfuscating: " in stderr.getvalue() and "\x1b[" not in stderr.getvalue()


def test_a_watch_is_told_instead(village: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener(ProgressListener):
        told: list[str] = []  # noqa: RUF012

        def stage(self, name: str, unit: str) -> Progress:
            self.told.append(name)
            return super().stage(name, unit)

    screen = shown_on(Screen(), monkeypatch)
    small(village, progress=Listener())
    assert "obfuscating" in Listener.told and screen.getvalue() == ""
