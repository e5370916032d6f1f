"""How long until the command answers, and until the default vectors are there?"""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.data import Skipped, median
from benchmarks.table import Line, Target, show

QUESTION = "how long until the command line answers?"
HELP, VECTORS, HEAVY = Target(0.3, at_most=True), Target(2.0, at_most=True), Target(0, at_most=True)
HEAVY_MODULES = ("torch", "numba", "plotly", "pandas")

_HELP = """
import sys
from quipukit.cli import main
sys.argv = ["quipukit", "--help"]
try:
    main()
except SystemExit:
    pass
print(*(name for name in {modules!r} if name in sys.modules), sep="\\n", file=sys.stderr)
"""
_LOAD = """
import time
import quipukit
start = time.perf_counter()
quipukit.load_vectors()
print(time.perf_counter() - start)
"""


def run(quick: bool) -> list[Line]:
    """Time fresh processes: what a user waits for."""
    turns = 3 if quick else 10
    command = Path(sys.executable).with_name("quipukit")
    if not command.is_file():
        raise Skipped(f"there is no command {command.name} beside the interpreter; install the package first")
    bare, help_page, loads = [], [], []
    _python(_LOAD)  # builds the pack where this machine has none yet
    for _ in range(turns):
        bare.append(_wall([sys.executable, "-c", "pass"]))
        help_page.append(_wall([str(command), "--help"]))
        loads.append(float(_python(_LOAD).stdout))
    heavy = _python(_HELP.format(modules=HEAVY_MODULES)).stderr.split()
    if heavy:
        print(f"imported by --help: {', '.join(heavy)}")

    def line(what: str, values: list[float], target: Target | None) -> Line:
        return Line(what, (f"{min(values):.3f}", f"{max(values):.3f}"), median(values), target)

    lines = [
        line("python -c pass (s)", bare, None),
        line("quipukit --help (s)", help_page, HELP),
        Line(f"of {', '.join(HEAVY_MODULES)}, imported by --help", ("", ""), len(heavy), HEAVY),
        line("load_vectors(), not for the first time (s)", loads, VECTORS),
    ]
    show(("what", "lowest", "highest", "median"), lines)
    return lines


def _wall(command: list[str]) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        raise Skipped(f"{command[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return taken


def _python(code: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skipped((done.stderr.strip().splitlines() or ["a process failed without a message"])[-1])
    return done
