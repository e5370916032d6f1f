"""What `evaluate` shows of itself: something on a terminal and in a notebook, nothing in a script."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from quipukit.experiment.progress_view import ProgressView
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


class Cell:
    """The output of a notebook's cell: what is displayed stays there, and can be displayed again in its place."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []

    def display(self, page: str, display_id: bool = False) -> "SimpleNamespace":
        assert display_id, "or it could not be updated"
        states = [page]
        self.shown.append(states)
        return SimpleNamespace(update=states.append)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Run the test as in a notebook, without ipywidgets."""
    cell = Cell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=cell.display))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return cell


def test_a_notebook_shows_the_stages(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch, cell: Cell) -> None:
    stderr = shown_on(io.StringIO(), monkeypatch)
    again(progress=False)
    assert not cell.shown
    again()
    assert any("obfuscating: " in states[-1] for states in cell.shown)
    assert "obfuscating" not in stderr.getvalue(), "once, and where the person looks"


def test_a_bar_in_a_notebook_is_plain_html_and_ends_with_the_time(cell: Cell) -> None:
    with ProgressView() as view:
        report = view.stage("<encoding>", "texts")
        for done in range(101):
            report(done, 100)
    (states,) = cell.shown
    assert 'value="0.0000"' in states[0] and 'value="1.0000"' in states[-2]
    assert len(states) < 20, "not once for every text"
    assert "<progress" not in states[-1] and states[-1].endswith("s</div>")
    assert all("&lt;encoding&gt;" in state for state in states)


def test_a_watch_is_told_instead(again: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    class Listener(ProgressListener):
        told: list[str] = []  # noqa: RUF012

        def stage(self, name: str, unit: str) -> Progress:
            self.told.append(name)
            return super().stage(name, unit)

    screen = shown_on(Screen(), monkeypatch)
    again(progress=Listener())
    assert "obfuscating" in Listener.told and screen.getvalue() == ""
