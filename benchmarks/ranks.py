"""How fast, and in how much memory, are the ranks of 3,698 centroids in a log of 750,000 queries counted?"""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.data import CACHE, memory
from benchmarks.table import Line, Target, show

QUESTION = "what does it cost to rank a log of 750,000 x 384 for 43 queries x 86 settings?"
SECONDS, SHARE, MEMORY = Target(90, at_most=True), Target(50), Target(1.5, at_most=True)
CENTROIDS, DIMENSION = 43 * 86, 384


def run(quick: bool) -> list[Line]:
    """Count in a fresh process over a memory-mapped log of random vectors; the product's own rate is measured there."""
    size = 50_000 if quick else 750_000
    file = CACHE / "ranks-log.npy"
    try:
        _python(f"from benchmarks.ranks import write; write({str(file)!r}, {size})")
        told = _python(f"from benchmarks.ranks import measure; measure({str(file)!r})").split()
    finally:
        file.unlink(missing_ok=True)
    seconds, rate, machine, memory = map(float, told)
    lines = [
        Line(f"ranks of {CENTROIDS:,} centroids in {size:,} (s)", (), seconds, SECONDS),
        Line("share of the machine's float32 product (%)", (), 100 * rate / machine, SHARE),
        Line("machine (GFlop/s)", (), machine),
        Line("peak memory, mapped pages included (GB)", (), memory, MEMORY),
    ]
    show(("what", "value"), lines)
    return lines


def write(file: str, size: int) -> None:
    """Write random vectors as float16, block by block."""
    import numpy as np

    Path(file).parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    log = np.lib.format.open_memmap(file, "w+", np.float16, (size, DIMENSION))
    for start in range(0, size, 50_000):
        rows = rng.standard_normal((min(50_000, size - start), DIMENSION), np.float32)
        log[start : start + len(rows)] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    log.flush()


def measure(file: str) -> None:
    """Print seconds, the rate reached, the machine's rate (both GFlop/s) and the peak memory (GB)."""
    import numpy as np

    from quipukit.attackers.ranks import count_better

    log = np.load(file, mmap_mode="r")
    rng = np.random.default_rng(1)
    targets = rng.integers(0, len(log), CENTROIDS)
    own = log[targets].astype(np.float64)
    centroids = own + rng.standard_normal((CENTROIDS, DIMENSION)) * 0.05

    def rows(start: int, stop: int) -> "np.ndarray":  # type: ignore[type-arg]
        return np.asarray(log[start:stop], np.float32)

    count_better(centroids, targets % 1000, rows, 1000, own)  # compiled, and no part of the time
    before = _product_rate()
    start = time.perf_counter()
    count_better(centroids, targets, rows, len(log), own)
    seconds = time.perf_counter() - start
    machine = (before + _product_rate()) / 2
    peak = memory()["peak"] / 1e9
    print(seconds, 2 * CENTROIDS * len(log) * DIMENSION / seconds / 1e9, machine, peak)


def _product_rate() -> float:
    import numpy as np

    one = np.random.default_rng(2).standard_normal((3072, 3072), np.float32)
    best = 0.0
    for _ in range(5):
        start = time.perf_counter()
        one @ one
        best = max(best, 2 * 3072**3 / (time.perf_counter() - start) / 1e9)
    return best


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
