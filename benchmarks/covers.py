"""How long does it take to divide a pool, and to find a query's group?

Vectors are random around random centers and lie on disk, as encodings do; the queries of the pool are made of numbers.
Encoding is not counted. Five million queries are divided in a process of their own, whose memory is told: mapped pages,
which the system may drop, apart from the rest.
"""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from benchmarks.data import CACHE, ROOT, Skipped
from benchmarks.table import Line, Target, show

QUESTION = "what do partitions of 182,000 and 5 million queries cost, and a query's group?"
DIMENSION, LEAF = 384, 50
SIZES = {181_963: Target(30, at_most=True), 5_000_000: Target(1200, at_most=True)}
GIGABYTES, INSIDE, OUTSIDE = Target(4, at_most=True), Target(1, at_most=True), Target(50, at_most=True)


def run(quick: bool) -> list[Line]:
    """Divide pools of both sizes, each in a fresh process."""
    lines = []
    for size, seconds in SIZES.items():
        if quick and size > 1_000_000:
            continue
        file = CACHE / f"covers-{size}.npy"
        try:
            _python("write", file, size)
            told = json.loads(_python("measure", file, size).splitlines()[-1])
        finally:
            file.unlink(missing_ok=True)
        lines += [
            Line(f"partition of {size:,} (s)", (), told["seconds"], seconds),
            Line(f"partition of {size:,}: memory without mapped pages (GB)", (), told["own"] / 1e9, GIGABYTES),
            Line(f"group of a query in the pool, {size:,} (ms)", (), told["inside"] * 1e3, INSIDE),
            Line(f"group of a query outside, encoding apart, {size:,} (ms)", (), told["outside"] * 1e3, OUTSIDE),
        ]
    show(("what", "value"), lines)
    return lines


def _python(part: str, file: Path, size: int) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.covers", part, str(file), str(size)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Skipped("the part's process failed; its message is above")
    return done.stdout


def write(file: str, size: int) -> None:
    """Write vectors around centers, block by block."""
    import numpy as np

    Path(file).parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((1000, DIMENSION), np.float32)
    made = np.lib.format.open_memmap(file, "w+", np.float32, (size, DIMENSION))
    for start in range(0, size, 50_000):
        count = min(50_000, size - start)
        rows = centers[rng.integers(0, len(centers), count)] + rng.standard_normal((count, DIMENSION), np.float32)
        made[start : start + count] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    made.flush()


def measure(file: str, size: int) -> None:
    """Divide the vectors of a file, find groups, and print the figures."""
    import numpy as np

    from quipukit.covers.bisection import Sides, bisected
    from quipukit.covers.describe import Description
    from quipukit.covers.forms import WIDTH, forms
    from quipukit.covers.partition import Partition, packed
    from quipukit.covers.pool import QueryPool

    watch = _OwnMemory()
    vectors = np.load(file, mmap_mode="r")
    pool = QueryPool.of((f"query {number:08d}" for number in range(size)), "made")
    start = time.perf_counter()
    order, means = bisected(Sides(vectors, forms(pool.texts), 1), [np.arange(size)], LEAF)
    usual = np.zeros((len(means), WIDTH), np.float16)
    made = Partition(pool, order.astype(np.int32), LEAF, packed(means), usual, Description("static:default"))
    seconds = time.perf_counter() - start
    made.members(made.group_of(pool.texts[0], LEAF), LEAF)
    start = time.perf_counter()
    for text in pool.texts[:: size // 100]:
        made.members(made.group_of(text, LEAF), LEAF)
    inside = (time.perf_counter() - start) / len(pool.texts[:: size // 100])
    made.group_of("a question of somebody", LEAF)
    start = time.perf_counter()
    for number in range(20):
        made.group_of(f"another question {number}", LEAF)
    outside = (time.perf_counter() - start) / 20
    print(json.dumps({"seconds": seconds, "own": watch.highest, "inside": inside, "outside": outside}))


class _OwnMemory:
    """The most memory that was this process's own, mapped files apart, looked at five times a second."""

    def __init__(self) -> None:
        self.highest = 0.0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
            self.highest = max(self.highest, float(fields["RssAnon"].split()[0]) * 1024)
            time.sleep(0.2)


if __name__ == "__main__":
    {"write": write, "measure": measure}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
