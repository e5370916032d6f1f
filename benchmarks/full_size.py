"""Do collections of the size of MS MARCO (8.8 million passages) fit on one ordinary machine?

The whole experiment, on generated text: an index of the passages, a log of 5 million queries, 43 topics hidden at 88
settings with 50 variants each, searched to depth 100, re-ranked by static vectors, attacked by the panel. Every part
runs in a process of its own, so that its time and its peak memory are its own; the peak contains the pages of mapped
files, which the system could take back at any time, and stands beside what is no mapped file. Passages are generated
while they are indexed and re-ranked; what that takes is measured beside, and not subtracted.

``--scale 0.01`` takes a hundredth of the passages and of the log. Parts that are finished are not repeated: a run that
was stopped goes on where it was. Below the table stands all that was measured, with what every part took of the
processor, and the machine's load average (lowest, mean, highest) meanwhile.
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show
from quipukit.progress import Progress, ProgressListener

QUESTION = "does an experiment of full size run on one machine?"
PASSAGES, LOG, VARIANTS, DEPTH = 8_841_823, 5_000_000, 50, 100
MECHANISMS = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "CusText", "SanText", "TEM", "WBB")
EPSILONS = (1, 2, 5, 8, 10, 12, 15, 20, 25, 35, 50)
PARTS = ("generate", "index", "search", "log", "experiment")
HOME = CACHE / "full-size"
BUILD_GIGABYTES, SEARCH_GIGABYTES = Target(5.0, at_most=True), Target(3.0, at_most=True)
LOG_GIGABYTES = Target(1.5, at_most=True)
# 40 minutes for all of them.
MICROSECONDS = Target(40 * 60e6 / PASSAGES, at_most=True)

Told = dict[str, Any]


def run(quick: bool, scale: float = 1.0, until: str = PARTS[-1]) -> list[Line]:
    """Run the parts up to one of them, and show what each took."""
    scale = 0.002 if quick else scale
    size, queries = max(1, round(PASSAGES * scale)), max(1, round(LOG * scale))
    home = HOME / str(size)
    print(f"{size:,} passages, a log of {queries:,} queries", flush=True)
    if until not in PARTS:
        raise Skipped(f"there is no part {until!r} of it; choose from {', '.join(PARTS)}")
    parts = {part: _part(part, size, queries, home) for part in PARTS[: PARTS.index(until) + 1]}
    lines = [line for part, told in parts.items() for line in _lines(part, told, size)]
    columns = ("what", "seconds", "peak (GB)", "not mapped (GB)", "value")
    show(columns, lines)
    for part, told in parts.items():
        print(f"\n{part}: {json.dumps(told)}")
    if until == PARTS[-1]:  # else the rest needs what is finished
        shutil.rmtree(home)
    return lines


def _lines(part: str, told: Told, size: int) -> list[Line]:
    """Return what one part took: all of it, then its pieces."""

    def line(what: str, value: float, target: Target | None = None, of: Told = told) -> Line:
        cells = (f"{of['seconds']:,.0f}", f"{of['peak'] / 1e9:.2f}", f"{of['anonymous'] / 1e9:.2f}")
        return Line(what, cells, value, target)

    def more(what: str, value: float, target: Target | None = None) -> Line:
        return Line(what, ("", "", ""), value, target)

    if part == "generate":
        return [line("generate passages: microseconds each", 1e6 * told["seconds"] / told["count"])]
    if part == "index":
        return [
            line("index: microseconds a passage, generating included", 1e6 * told["seconds"] / size, MICROSECONDS),
            more("index: peak memory (GB)", told["peak"] / 1e9, BUILD_GIGABYTES),
            more("index: peak disk (GB)", told["disk"] / 1e9),
        ]
    if part == "search":
        return [
            line(f"search {told['queries']:,} queries: ms each", 1e3 * told["seconds"] / told["queries"]),
            more("search: size of the index (GB)", told["size"] / 1e9),
            more("search: opening it (s)", told["opened"]),
            more("search: peak memory (GB)", told["peak"] / 1e9, SEARCH_GIGABYTES),
        ]
    if part == "log":
        return [
            line("read, deduplicate and encode the log: microseconds a query", 1e6 * told["seconds"] / told["queries"]),
            more("log: memory beside mapped files (GB)", told["anonymous"] / 1e9, LOG_GIGABYTES),
        ]
    return [
        *(line(f"  {stage['stage']}: {stage['unit']}", stage["amount"], None, stage) for stage in told["stages"]),
        line("experiment: disk with index and log (GB)", told["disk"] / 1e9),
        more("experiment: nDCG@10 of the originals", told["identity"]),
    ]


def _part(name: str, size: int, queries: int, home: Path) -> Told:
    """Run a part in a process of its own, where it has not been finished."""
    kept = home / f"{name}.json"
    if not kept.is_file():
        command = [sys.executable, "-m", "benchmarks.full_size", name, str(size), str(queries)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Skipped(f"the process of the part {name!r} failed; its message is above")
        kept.write_text(done.stdout.splitlines()[-1], encoding="utf-8")
    told: Told = json.loads(kept.read_text(encoding="utf-8"))
    print(f"{name}: {told['seconds']:,.0f} s, {told['peak'] / 1e9:.2f} GB", flush=True)
    return told


# --- what runs in a process of its own ------------------------------------------------------------------------------


def generate(size: int, queries: int, home: Path) -> Told:
    """Make some of the passages, and do nothing with them."""
    from benchmarks.generated import Passages

    count = min(size, 100_000)
    start = time.perf_counter()
    for _ in Passages(count).documents():
        pass
    return {"seconds": time.perf_counter() - start, "count": count, **memory()}


def index(size: int, queries: int, home: Path) -> Told:
    """Build the index."""
    from benchmarks.generated import Passages
    from quipukit.retrieval.bm25 import BM25

    with _watched() as peaks, _disk_watched(home) as used:
        start = time.perf_counter()
        BM25.of(Passages(size), progress=_Stages(peaks).stage("index", "passages"))
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "disk": used(), **memory(), "anonymous": peaks["index"]["anonymous"]}


def search(size: int, queries: int, home: Path) -> Told:
    """Open the index, and search with 50 variants of every topic: half of their words are drawn anew."""
    import numpy as np

    from benchmarks.generated import FREQUENT, KNOWN, Passages, word
    from quipukit.retrieval.bm25 import BM25

    passages = Passages(size)
    rng = np.random.default_rng(3)
    asked = [
        " ".join(own if rng.random() < 0.5 else word(int(rng.integers(FREQUENT, KNOWN))) for own in topic.split())
        for topic in passages.queries()["query"]
        for _ in range(VARIANTS)
    ]
    start = time.perf_counter()
    retriever = BM25.of(passages)
    opened = time.perf_counter() - start
    retriever.search(asked[:2], DEPTH)
    start = time.perf_counter()
    retriever.search(asked, DEPTH)
    seconds = time.perf_counter() - start
    return {"opened": opened, "seconds": seconds, "queries": len(asked), "size": _size(home), **memory()}


def log(size: int, queries: int, home: Path) -> Told:
    """Write a log and vectors; read, deduplicate and encode it."""
    import quipukit as qk
    from benchmarks.generated import log_queries, word_vectors
    from quipukit.encoders.load import load_encoder
    from quipukit.encoders.store import EncodingStore

    with (home / "log.txt").open("w", encoding="utf-8") as file:
        for query in log_queries(queries):
            file.write(f"{query}\n")
    vectors = word_vectors()
    with (home / "vectors.txt").open("w", encoding="utf-8") as file:
        for word, row in zip(vectors.words, vectors.matrix.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{number:.4f}' for number in row)}\n")
    encoder = load_encoder(f"static:{home / 'vectors.txt'}")
    with _watched() as peaks:
        start = time.perf_counter()
        told = _Stages(peaks)
        told.stage("log", "queries")
        known = qk.read_log(home / "log.txt")
        EncodingStore(encoder).ensure(known.texts, "query", told.stage("log", "queries"))
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "queries": queries, "distinct": len(known), **memory(), **peaks["log"]}


def experiment(size: int, queries: int, home: Path) -> Told:
    """Run the experiment, with its own search, re-ranking and attack."""
    import quipukit as qk
    from benchmarks.generated import Passages

    vectors = str(home / "vectors.txt")
    start = time.perf_counter()
    with _kept(home / "peaks.json") as peaks:
        result = qk.evaluate(
            Passages(size),
            [f"{mechanism}@{epsilon}" for mechanism in MECHANISMS for epsilon in EPSILONS],
            VARIANTS,
            log=home / "log.txt",
            out=home / "run",
            vectors=vectors,
            encoder=f"static:{vectors}",
            reranker=f"static:{vectors}",
            attackers="panel",
            depth=DEPTH,
            growth=False,
            progress=_Stages(peaks),
        )
    stages: dict[str, Told] = {}
    for runs in json.loads((home / "run" / "timings.json").read_text(encoding="utf-8")):
        for timing in runs:
            own = stages.setdefault(timing["stage"], {**timing, "seconds": 0.0, "amount": 0.0})
            own["seconds"] += timing["seconds"]
            own["amount"] = max(own["amount"], timing["amount"])
    for name, stage in stages.items():
        stage.update(
            peaks.get(name, {"peak": 0.0, "anonymous": 0.0}), stage=name.replace(f"static:{vectors}", "static")
        )
    points = result.points()
    identity = float(points.loc[points["mechanism"] == "Identity", "utility"].iloc[0])
    found = {"disk": _size(home), "identity": identity, "stages": list(stages.values())}
    # Of this process and of those that were stopped before it.
    seconds = max(time.perf_counter() - start, sum(stage["seconds"] for stage in stages.values()))
    highest = {kind: max(peak[kind] for peak in peaks.values()) for kind in ("peak", "anonymous")}
    return {"seconds": seconds, **found, **highest}


class _Stages(ProgressListener):
    """Tells a watcher which stage runs, and prints now and then how far it is."""

    def __init__(self, peaks: "_Peaks") -> None:
        self.peaks, self._last = peaks, time.perf_counter()

    def stage(self, name: str, unit: str) -> Progress:
        self.peaks.stage = name

        def progress(done: float, total: float) -> None:
            if time.perf_counter() - self._last > 30:
                self._last = time.perf_counter()
                print(f"{name}: {done:,.0f} of {total:,.0f} {unit}", file=sys.stderr, flush=True)

        return progress

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class _Peaks(dict[str, dict[str, float]]):
    """The largest memory that was seen in each stage: all, and what is no mapped file."""

    stage = "begin"

    def look(self) -> None:
        now = memory()
        seen = self.setdefault(self.stage, {"peak": 0.0, "anonymous": 0.0})
        seen["peak"] = max(seen["peak"], now["anonymous"] + now["mapped"])
        seen["anonymous"] = max(seen["anonymous"], now["anonymous"])


@contextlib.contextmanager
def _watched() -> Iterator[_Peaks]:
    """Look at the memory of this process every twentieth of a second."""
    peaks = _Peaks()
    with _repeated(peaks.look, 0.05):
        yield peaks


@contextlib.contextmanager
def _kept(file: Path) -> Iterator[_Peaks]:
    """Watch, beginning with what a process saw that was stopped before this one."""
    with _watched() as peaks:
        if file.is_file():
            peaks.update(json.loads(file.read_text(encoding="utf-8")))
        try:
            yield peaks
        finally:
            file.write_text(json.dumps(peaks), encoding="utf-8")


@contextlib.contextmanager
def _disk_watched(folder: Path) -> Iterator[Callable[[], float]]:
    """Look at the size of a folder every second, and give a function that returns its peak."""
    peak = 0.0

    def look() -> None:
        nonlocal peak
        peak = max(peak, _size(folder))

    with _repeated(look, 1):
        yield lambda: peak


@contextlib.contextmanager
def _machine_watched(file: Path) -> Iterator[Told]:
    """Give seconds of the processor, and lowest, mean and highest load average, looked at every five seconds.

    They are complete at the end, and contain those of processes that were stopped before this one.
    """
    seen: list[float] = []
    told: Told = {"processor": 0.0, "load": [], "looks": 0}
    if file.is_file():
        told.update(json.loads(file.read_text(encoding="utf-8")))
    try:
        with _repeated(lambda: seen.append(os.getloadavg()[0]), 5):
            yield told
    finally:
        low, mean, high = told["load"] or (seen[0], 0.0, 0.0)
        looks = told["looks"] + len(seen)
        mean = (mean * told["looks"] + sum(seen)) / looks
        told.update(load=[min(low, *seen), mean, max(high, *seen)], looks=looks)
        told["processor"] += time.process_time()
        file.write_text(json.dumps(told), encoding="utf-8")


@contextlib.contextmanager
def _repeated(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function again and again, and once more at the end; if it fails, what it watches fails, too."""
    stopped = threading.Event()

    def repeat() -> None:
        ended = False
        while not ended:
            ended = stopped.wait(seconds)
            look()

    with ThreadPoolExecutor(1) as pool:
        watcher = pool.submit(repeat)
        try:
            yield
        finally:
            stopped.set()
        watcher.result()  # without a watcher, a peak would be too low and look right


def _size(folder: Path) -> float:
    """Return the bytes of all files below a folder; what is removed in between does not count."""
    total = 0
    for place, _, names in os.walk(folder):  # which passes over folders that are gone
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


if __name__ == "__main__":
    work = {"generate": generate, "index": index, "search": search, "log": log, "experiment": experiment}
    passages, in_log = map(int, sys.argv[2:4])
    folder = HOME / sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["QUIPUKIT_HOME"] = str(folder / "home")
    with _machine_watched(folder / f"{sys.argv[1]}-machine.json") as machine_seen:
        outcome = work[sys.argv[1]](passages, in_log, folder)
    print(json.dumps({**outcome, **machine_seen}))
