"""Is `--dry-run` right? Small experiments on the built-in collection, estimated, and then run.

Each runs in a fresh process: cold, where nothing is kept but the package and compiled kernels; warm, where the
log is encoded and the index built; and extended by a further mechanism. Time is that of the clock, from the start of
the process to the report; memory the high-water mark of the process; disk what the folder and the cache grew by.
Beside the stages the processor time is printed, by which a run on a machine with other work can be judged.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "is what --dry-run says about time, memory and disk what a run takes?"
# By what factor an estimate may be wrong, to either side.
FACTOR = Target(2.0, at_most=True)

STATIC: dict[str, Any] = {"encoder": "static", "systems": (("bm25", "static"),)}
CASES: dict[str, dict[str, Any]] = {
    "static": {**STATIC, "specs": ("CMP@5", "TEM@2", "AEA@3"), "n": 10, "topics": 10, "log_sample": 20_000},
    "static, whole log": {**STATIC, "specs": ("CMP@5", "CMP@10", "TEM@2"), "n": 50, "topics": 10, "attackers": "panel"},
    "MiniLM": {"specs": ("CMP@10", "TEM@2"), "n": 10, "topics": 5, "depth": 10, "log_sample": 5_000},
    "MiniLM, QuIA alone": {
        **{"specs": ("CMP@5", "CMP@10", "CMP@20"), "n": 10, "topics": 5, "depth": 10, "log_sample": 10_000},
        "attackers": "QuIA",
    },
}
# A report alone takes some twenty seconds: what is kept and what is added is looked at in one case.
COLD_ONLY = ("static, whole log", "MiniLM", "MiniLM, QuIA alone")
QUICK: dict[str, dict[str, Any]] = {
    "quick": {**STATIC, "specs": ("CMP@5",), "n": 3, "topics": 3, "log_sample": 500, "attackers": "QuIA"}
}
MORE = "WBB@10"  # added to a finished run

_HOME = "QUIPUKIT_BENCHMARK_HOME"


def run(quick: bool) -> list[Line]:
    """Estimate and run each case: cold, and of some then warm in another folder, and with a mechanism more."""
    lines: list[Line] = []
    for name in QUICK if quick else CASES:
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as place:
            home, first, second = (Path(place) / part for part in ("home", "first", "second"))
            states = (("cold", first), ("warm", second), ("more", second))
            for state, out in states[:1] if name in COLD_ONLY else states:
                lines += _compared(name, state, home, out, None if quick else FACTOR)
    show(("what", "estimated", "measured", "factor"), lines)
    return lines


def _compared(name: str, state: str, home: Path, out: Path, target: Target | None) -> list[Line]:
    told = _job(home, "estimate", name, state, out)
    before = _size(home) + _size(out)
    start = time.perf_counter()
    used = _job(home, "run", name, state, out)
    seconds, grown = time.perf_counter() - start, _size(home) + _size(out) - before
    return [
        _line(f"{name}, {state}: time (s)", told["seconds"], seconds, target),
        _line(f"{name}, {state}: memory (GB)", told["memory"] / 1e9, used["peak"] / 1e9, target),
        _line(f"{name}, {state}: disk (MB)", told["disk"] / 1e6, grown / 1e6, target),
    ]


def _line(what: str, estimated: float, measured: float, target: Target | None) -> Line:
    low, high = sorted((max(estimated, 1e-3), max(measured, 1e-3)))
    return Line(what, (f"{estimated:,.1f}", f"{measured:,.1f}"), high / low, target)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _job(home: Path, *arguments: object) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.dry_run", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, _HOME: str(home)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Skipped("the job's process failed; its message is above")
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


# --- inside the fresh process -------------------------------------------------------------------------------------


def job(what: str, name: str, state: str, out: Path) -> dict[str, Any]:
    """Estimate a case, or run it, and tell what it takes."""
    from quipukit.experiment.cost import estimate
    from quipukit.experiment.grid import expand
    from quipukit.experiment.options import Options, usual_attackers
    from quipukit.experiment.run import run as run_experiment
    from quipukit.report.write import write_report

    case = dict({**CASES, **QUICK}[name])
    specs = [*case.pop("specs"), *([MORE] if state == "more" else [])]
    case.setdefault("attackers", usual_attackers(specs))
    options = Options(specs=tuple(expand(specs)), **case)
    if what == "estimate":
        cost = estimate(options, out)
        for row in cost.rows():
            print("  ".join(row), file=sys.stderr)
        space = cost.space
        return {"seconds": cost.seconds, "memory": space.memory, "disk": space.folder + space.cache}
    result = run_experiment(options, out)
    write_report(result, out / "report")
    for timing in json.loads((out / "timings.json").read_text())[-1]:
        print("  measured", timing["stage"], f"{timing['seconds']:.1f} s", f"{timing['amount']:,.0f}", file=sys.stderr)
    print(f"  measured processor {time.process_time():.1f} s", file=sys.stderr)
    return memory()


if __name__ == "__main__":
    # After the imports, which name the home of all other benchmarks.
    os.environ["QUIPUKIT_HOME"] = os.environ.get(_HOME, os.environ["QUIPUKIT_HOME"])
    print(json.dumps(job(*sys.argv[1:4], Path(sys.argv[4]))))  # type: ignore[call-arg]
