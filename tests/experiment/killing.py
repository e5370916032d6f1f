"""Runs that end by SIGKILL at a chosen moment: in a process of their own, forked where everything is imported."""

import contextlib
import itertools
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quipukit import progress, storage
from quipukit.experiment import artifacts, begun
from quipukit.results import files
from tests.experiment import tiny

# Around the writing of a file: nothing there yet, half of the draft, the whole draft, the file in its place.
MOMENTS = ("before", "half", "written", "after")
NEVER = -1
STAGES = ("obfuscate", "retrieve", "utility", "ceiling", "attack", "risk", "guesses", "text_similarity")


def deadly(fatal: int, moment: str) -> Callable[[Path], Any]:
    """Return a ``atomic_write`` that ends the process around its call number ``fatal``, counted from 0."""
    numbers = itertools.count()

    @contextlib.contextmanager
    def atomic_write(path: Path) -> Iterator[Path]:
        doomed = next(numbers) == fatal
        with storage.atomic_write(path) as draft:
            if doomed and moment == "before":
                _die()
            yield draft
            if doomed and moment == "half":
                os.truncate(draft, draft.stat().st_size // 2)
                _die()
            if doomed and moment == "written":
                _die()
        if doomed:
            _die()

    return atomic_write


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def child(collection: Path, out: Path, cache: Path, fatal: int, moment: str, changes: dict[str, Any]) -> None:
    """Run the tiny experiment until write number ``fatal``; to the end where there are fewer."""
    patch = pytest.MonkeyPatch()
    tiny.no_model(patch, cache)
    replaced = deadly(fatal, moment)
    for module in (begun, artifacts, files, progress):
        patch.setattr(module, "atomic_write", replaced)
    tiny.run(collection, out, **changes)


def killed(collection: Path, out: Path, cache: Path, fatal: int, moment: str = "after", **changes: Any) -> bool:
    """Run until a write, and tell whether the run was killed there (and did not end before)."""
    return _ended(start(collection, out, cache, fatal, moment, changes))


def killed_after(seconds: float, collection: Path, out: Path, cache: Path, **changes: Any) -> bool:
    """Run, and kill the run after some seconds; tell whether it was still running."""
    process = start(collection, out, cache, NEVER, "", changes)
    time.sleep(seconds)
    process.kill()
    return _ended(process)


def start(*arguments: Any, target: Callable[..., None] = child) -> Any:
    """Begin a process; see `child` for what it takes."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.experiment.warm"])
    process = context.Process(target=target, args=arguments)
    process.start()
    return process


def freeze(process: Any) -> None:
    """Stop a process where it is."""
    os.kill(process.pid, signal.SIGSTOP)


def _ended(process: Any) -> bool:
    process.join(120)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def child_with_limit(collection: Path, out: Path, cache: Path, limit: int, report: Path) -> None:
    """Run with files of at most ``limit`` bytes, and write how it ended to a file that is there already."""
    tiny.no_model(pytest.MonkeyPatch(), cache)
    with report.open("w", encoding="utf-8") as file:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            tiny.run(collection, out)
            outcome = "finished"
        except BaseException as fault:
            outcome = f"{type(fault).__name__}: {fault}"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        file.write(outcome)


def limited(collection: Path, out: Path, cache: Path, limit: int) -> str:
    """Run where no file may be larger than ``limit`` bytes, and return how that ended."""
    report = out.with_name("outcome.txt")
    assert not _ended(start(collection, out, cache, limit, report, target=child_with_limit))
    return report.read_text(encoding="utf-8")
