"""How long does `make demo` take the first time, after the set-up?

A fresh clone with an empty home: no vectors, no index. The environment is the one that runs this. The set-up writes
bytecode and compiles the kernels for the processor at hand; a package from pip has not done the latter, so the demo is
measured without it, too.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import CACHE, ROOT, Skipped, seconds
from benchmarks.table import Line, Target, show

QUESTION = "how long does the demo take the first time?"
SECONDS = Target(60, at_most=True)


def run(quick: bool) -> list[Line]:
    """Run the demo in clones; ``quick`` makes no difference."""
    lines = [*_demo("after the set-up", SECONDS, compiled=True), *_demo("kernels not compiled", None, compiled=False)]
    show(("what", "value"), lines)
    return lines


def _demo(what: str, target: Target | None, *, compiled: bool) -> list[Line]:
    """Run the demo once, in a clone of its own."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        clone, home, rehearsal = Path(place) / "clone", Path(place) / "home", Path(place) / "rehearsal"
        home.mkdir()
        rehearsal.mkdir()
        if subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=False).returncode:
            raise Skipped("needs a git checkout")
        # Bytecode is written, as by `make demo`.
        left_out = ("QUIPUKIT_", "XDG_", "NUMBA_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        environment = {**kept, "HOME": str(home), "PYTHONPATH": str(clone / "src")}

        def python(*arguments: str, **more: str) -> None:
            command = [sys.executable, "-m", *arguments]
            if subprocess.run(command, cwd=clone, env={**environment, **more}, check=False).returncode:
                raise Skipped(f"{' '.join(arguments[:2])} failed; its message is above")

        python("compileall", "-q", "src")
        if compiled:
            python("quipukit.cli.rehearsal", str(rehearsal), QUIPUKIT_HOME=str(rehearsal))
        before = os.times()
        clock = seconds(lambda: python("quipukit", "demo"))
        after = os.times()
    return [
        Line(f"the demo, {what} (s)", (), clock, target),
        Line(f"the demo, {what}: of the processor (s)", (), after.children_user - before.children_user),
        Line(f"the demo, {what}: of the system (s)", (), after.children_system - before.children_system),
    ]
