"""Install quipukit as its users do, and try it: `python -m tests.packaging.install slim|oldest|sdist`.

slim: the wheel alone, without torch. oldest: the same with every dependency at its lowest allowed version. sdist: the
wheel is made from the source distribution. Each in an environment of its own, outside the tree, with an empty home.
"""

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SMOKE = Path(__file__).with_name("smoke.py")


def oldest() -> list[str]:
    """Return the dependencies of a plain install, each at its lowest allowed version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.sub(r">=", "==", one) for one in project["dependencies"]]


def build(place: Path, kind: str) -> Path:
    """Build the wheel; from the source distribution where that is asked for."""
    python = environment(place / "builder", ["build"])
    options = [] if kind == "sdist" else ["--wheel"]
    call([python, "-m", "build", *options, "--outdir", place / "dist", ROOT], place)
    [wheel] = (place / "dist").glob("*.whl")
    return wheel


def environment(folder: Path, packages: list[str], constraints: list[str] | None = None) -> Path:
    """Make an environment with packages, and return its Python."""
    call([sys.executable, "-m", "venv", folder], folder.parent)
    python = folder / "bin" / "python"
    if packages:
        limits = folder.parent / "constraints.txt"
        limits.write_text("\n".join(constraints or []), encoding="utf-8")
        call(
            [python, "-m", "pip", "install", "--progress-bar", "off", "--constraint", limits, *packages], folder.parent
        )
    return python


def call(command: list[object], place: Path) -> str:
    """Run a command outside of the tree, with a home of its own, and return what it printed."""
    own = {"HOME": str(place), "QUIPUKIT_HOME": str(place / "quipukit"), "PYTHONPATH": ""}
    done = subprocess.run(
        [str(word) for word in command], cwd=place, env={**os.environ, **own}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def downloaded(printed: str) -> float:
    """Return how many MB pip says that it downloaded."""
    sizes = re.findall(r"^ *Downloading (?!.*\.metadata)\S+ \(([\d.]+) ([kM])B\)", printed, re.MULTILINE)
    return sum(float(size) * (1 if unit == "M" else 0.001) for size, unit in sizes)


def processor_seconds() -> float:
    """Return the processor time of all commands so far: the clock also counts what others do on the machine."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(kind: str) -> None:
    """Build, install and try."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = build(place, kind)
        python = environment(place / "venv", [])
        limits = place / "oldest.txt"
        limits.write_text("\n".join(oldest()) if kind == "oldest" else "", encoding="utf-8")
        begin, used = time.perf_counter(), processor_seconds()
        printed = call(
            [python, "-m", "pip", "install", "--no-cache-dir", "--progress-bar", "off", "--constraint", limits, wheel],
            place,
        )
        seconds, used = time.perf_counter() - begin, processor_seconds() - used
        command = python.with_name("quipukit")
        call([command, "vectors", "install", "default"], place)
        trial = place / "smoke.py"
        trial.write_text(SMOKE.read_text(encoding="utf-8"), encoding="utf-8")
        said = call([python, trial], place).strip()
        versions = call([python, "-m", "pip", "list", "--format", "freeze"], place)
        assert not re.search(r"^torch==", versions, re.MULTILINE), "a plain install must not bring torch"
        print(
            f"{kind}: {said}; installed in {seconds:.0f} s ({used:.0f} s of processor time), "
            f"{downloaded(printed):.0f} MB downloaded"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "slim")
