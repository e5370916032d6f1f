"""Do collections of the size of MS MARCO (8.8 million passages) fit on one ordinary machine?

Every stage runs in a process of its own, so that its time and its peak memory are its own; the peak contains the pages
of mapped files, which the system could take back at any time. Passages are generated while they are indexed; what that
takes is measured beside, and not subtracted. ``--scale 0.01`` takes a hundredth of the passages.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "does an experiment of full size run on one machine?"
PASSAGES, VARIANTS, DEPTH = 8_841_823, 50, 100
HOME = CACHE / "full-size"
BUILD_GIGABYTES, SEARCH_GIGABYTES = Target(5.0, at_most=True), Target(3.0, at_most=True)
# 40 minutes for all of them.
MICROSECONDS = Target(40 * 60e6 / PASSAGES, at_most=True)


def run(quick: bool, scale: float = 1.0) -> list[Line]:
    """Index generated passages, and search them with distinct queries."""
    size = max(1, round(PASSAGES * (0.002 if quick else scale)))
    shutil.rmtree(HOME, ignore_errors=True)
    try:
        told = {stage: _stage(stage, size) for stage in ("generate", "index", "search")}
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    made, index, search = told["generate"], told["index"], told["search"]
    lines = [
        Line("generate the passages: microseconds each", (), 1e6 * made["seconds"] / made["count"]),
        Line("index: time (s), generating included", (), index["seconds"]),
        Line("index: microseconds per passage", (), 1e6 * index["seconds"] / size, MICROSECONDS),
        Line("index: peak memory (GB)", (), index["peak"] / 1e9, BUILD_GIGABYTES),
        Line("index: peak disk (GB)", (), index["disk"] / 1e9),
        Line("index: size (GB)", (), search["size"] / 1e9),
        Line("open: time (s)", (), search["opened"]),
        Line(
            f"search {search['queries']:,.0f} queries to depth {DEPTH}: ms each",
            (),
            1e3 * search["seconds"] / search["queries"],
        ),
        Line("search: peak memory (GB)", (), search["peak"] / 1e9, SEARCH_GIGABYTES),
        Line("search: mapped files in it (GB)", (), search["mapped"] / 1e9),
    ]
    print(f"{size:,} passages")
    show(("what", "value"), lines)
    return lines


def _stage(name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.full_size", name, str(size)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Skipped(f"the process of the stage {name!r} failed; its message is above")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- what runs in a process of its own ------------------------------------------------------------------------------


def generate(size: int) -> dict[str, float]:
    """Make some of the passages, and do nothing with them."""
    from benchmarks.generated import Passages

    count = min(size, 100_000)
    start = time.perf_counter()
    for _ in Passages(count).documents():
        pass
    return {"seconds": time.perf_counter() - start, "count": count}


def index(size: int) -> dict[str, float]:
    """Build the index."""
    from benchmarks.generated import Passages
    from quipukit.retrieval.bm25 import BM25

    last = time.perf_counter()

    def progress(done: float, total: float) -> None:
        nonlocal last
        if time.perf_counter() - last > 30:
            last = time.perf_counter()
            print(f"indexing: {done:,.0f} of {total:,.0f}", file=sys.stderr, flush=True)

    with _disk_watched() as used:
        start = time.perf_counter()
        BM25.of(Passages(size), progress=progress)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "disk": used(), **memory()}


def search(size: int) -> dict[str, float]:
    """Open the index, and search with 50 variants of every topic: half of their words are drawn anew."""
    import numpy as np

    from benchmarks.generated import Passages, word
    from quipukit.retrieval.bm25 import BM25

    passages = Passages(size)
    rng = np.random.default_rng(3)
    queries = [
        " ".join(own if rng.random() < 0.5 else word(int(rng.integers(300, 50_000))) for own in topic.split())
        for topic in passages.queries()["query"]
        for _ in range(VARIANTS)
    ]
    start = time.perf_counter()
    retriever = BM25.of(passages)
    opened = time.perf_counter() - start
    retriever.search(queries[:2], DEPTH)
    start = time.perf_counter()
    retriever.search(queries, DEPTH)
    return {
        "opened": opened,
        "seconds": time.perf_counter() - start,
        "queries": len(queries),
        "size": _size(HOME),
        **memory(),
    }


@contextlib.contextmanager
def _disk_watched() -> Iterator[Callable[[], float]]:
    """Look at the size of the folder every second, and give a function that returns its peak."""
    peak, stopped = 0.0, threading.Event()

    def look() -> None:
        nonlocal peak
        ended = False
        while not ended:
            ended = stopped.wait(1)
            peak = max(peak, _size(HOME))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield lambda: peak
    finally:
        stopped.set()
        watcher.join()


def _size(folder: Path) -> float:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # removed in between
            continue
    return total


if __name__ == "__main__":
    os.environ["QUIPUKIT_HOME"] = str(HOME)
    stages = {"generate": generate, "index": index, "search": search}
    print(json.dumps(stages[sys.argv[1]](int(sys.argv[2]))))
