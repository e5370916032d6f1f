"""What does a whole experiment cost: eight mechanisms, ten epsilons, 50 variants, 43 queries, real GloVe?

The job runs in a fresh process, from the import to the finished table. CusText's division of the vocabulary into
groups, which is otherwise kept on disk, is removed beforehand and made again. The kernels are compiled beforehand, as
for every user after the first call. Peak memory is the process's largest resident set; it contains
the pages of the memory-mapped vectors, which the system could take back at any time.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import GLOVE, GRID, ROOT, TOPICS, Skipped, glove, memory, topics
from benchmarks.table import Line, Target, show

QUESTION = "what do eight mechanisms, ten epsilons, 50 variants and 43 queries cost?"
SECONDS, GIGABYTES = Target(180, at_most=True), Target(2.0, at_most=True)
# Mechanisms that share most of their work: noise and its product, or the sorted distances.
FAMILIES = (("CMP", "VickreyCMP"), ("Mahalanobis", "VickreyMhl"), ("CusText",), ("SanText", "TEM"), ("WBB",))


def run(quick: bool) -> list[Line]:
    """Run the job in a fresh process and judge what it reports."""
    vectors = glove()
    _compile(vectors)
    for kept in vectors.folder.glob("groups-*"):
        kept.unlink()
    print(f"queries: {'TREC Deep Learning 2019' if TOPICS.is_file() else 'seeded samples of frequent words'}")
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.full_grid", *(["--quick"] if quick else [])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise Skipped("the job's process failed; its message is above")
    told = json.loads(done.stdout.splitlines()[-1])
    lines = [
        *(Line(f"{what} (s)", (), taken) for what, taken in told["seconds"].items()),
        Line("all, with the start of the process (s)", (), wall, None if quick else SECONDS),
        Line("peak memory (GB)", (), told["peak"] / 1e9, None if quick else GIGABYTES),
        Line("mapped files in memory at the end (GB)", (), told["mapped"] / 1e9),
    ]
    print(f"{told['rows']:,} obfuscated queries, {told['words']:,} words")
    show(("what", "value"), lines)
    return lines


def _compile(vectors: Any) -> None:
    """Use every kernel once, on a small part of the vectors, stored and mapped like the whole."""
    import quipukit as qk
    from quipukit.vectors.store import load, save

    with tempfile.TemporaryDirectory() as place:
        save(vectors.restrict(vectors.words[:2000]), Path(place) / "part")
        part = load(Path(place) / "part")
        specs = [f"{mechanism}@{epsilon}" for family in FAMILIES for mechanism in family for epsilon in (5, 10)]
        qk.obfuscate({"q": "the first words"}, specs, 1, vectors=part, seed=7, noise="common")


def job(quick: bool) -> dict[str, Any]:
    """Obfuscate everything in one call, and tell the time of each family from the progress that is reported."""
    clock = [time.perf_counter()]
    names = ["import, load the vectors"]
    import quipukit as qk

    vectors = qk.load_vectors(GLOVE)
    queries = topics(vectors, 4 if quick else 43)
    clock.append(time.perf_counter())
    names.append("prepare the mechanisms (covariance)")
    specs = [f"{mechanism}@{epsilon:g}" for family in FAMILIES for mechanism in family for epsilon in GRID]
    mechanisms = [qk.mechanism(spec, vectors=vectors) for spec in specs]
    clock.append(time.perf_counter())
    names += [", ".join(family) for family in FAMILIES]
    sizes = (len(family) * len(GRID) * len(queries) for family in FAMILIES)
    ends = list(itertools.accumulate(sizes))

    def progress(done: float, _total: float) -> None:
        # Families run in the order in which their specs are given; half a query absorbs rounding.
        while ends and done > ends[0] - 0.5:
            ends.pop(0)
            clock.append(time.perf_counter())

    variants = 5 if quick else 50
    table = qk.obfuscate(queries, mechanisms, variants, vectors=vectors, seed=7, noise="common", progress=progress)
    clock.append(time.perf_counter())
    names.append("build the table")
    return {
        "seconds": {what: stop - start for what, start, stop in zip(names, clock[:-1], clock[1:], strict=True)},
        "rows": len(table),
        "words": int(table["query"].str.split().str.len().sum()),
        **memory(),
    }


if __name__ == "__main__":
    print(json.dumps(job("--quick" in sys.argv)))
