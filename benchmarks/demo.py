"""How long does `make demo` take the first time, after the set-up?

A fresh clone with an empty home: no compiled kernel, no vectors, no index. The environment is the one that runs this;
bytecode is written first, which is part of the set-up.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import CACHE, ROOT, Skipped
from benchmarks.table import Line, Target, show

QUESTION = "how long does the demo take the first time?"
SECONDS = Target(60, at_most=True)


def run(quick: bool) -> list[Line]:
    """Run the demo in a clone; ``quick`` makes no difference."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        clone, home = Path(place) / "clone", Path(place) / "home"
        home.mkdir()
        if subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=False).returncode:
            raise Skipped("needs a git checkout")
        # Bytecode is written, as by `make demo`.
        left_out = ("QUIPUKIT_", "XDG_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        environment = {**kept, "HOME": str(home), "PYTHONPATH": str(clone / "src")}
        subprocess.run([sys.executable, "-m", "compileall", "-q", "src"], cwd=clone, env=environment, check=True)
        before, start = os.times(), time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "quipukit", "demo"], cwd=clone, env=environment, check=False)
        seconds, after = time.perf_counter() - start, os.times()
        if done.returncode or not (clone / "runs" / "demo").is_dir():
            raise Skipped("the demo failed; its message is above")
    lines = [
        Line("the demo, cold (s)", (), seconds, SECONDS),
        Line("of the processor (s)", (), after.children_user - before.children_user),
        Line("of the system (s)", (), after.children_system - before.children_system),
    ]
    show(("what", "value"), lines)
    return lines
