"""How much of the machine's own speed does the search for the nearest word reach, and what does a sweep cost?

The machine's speed is that of one large float32 matrix product (4,096 x 4,096 x 4,096, by the BLAS under NumPy, with
all threads). It is measured right before and right after everything that is compared with it, and the better of the
two counts. A search for c points among v words of d dimensions counts 2cvd operations, the product that a brute force
cannot do without; drawing noise, finding the best of the scores, the exact comparison and, end to end, cutting
queries into words and building the table come on top and are what the missing share is spent on.

One query as it is typed is too small for that rate: its few rows pass over the whole vocabulary. It is compared with a
product of as many rows as it has word vectors and directions, by the BLAS with all threads: ten of each in turn.

Everything is timed by the clock, which counts, and by processor time, which other work on the machine disturbs less:
where the two shares differ much, the machine was not free or cores stood idle.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from benchmarks.data import GRID, Skipped, cores, glove, median, random_vectors, topics
from benchmarks.table import Line, Target, number, show

QUESTION = "what share of the machine's matrix-product rate, and what does a sweep cost?"
SHARE = Target(60)
# A product of few dimensions leaves less to share between epsilons, relative to looking at every score.
SWEEP = {300: Target(2.0, at_most=True), 100: Target(3.2, at_most=True)}
SIDE = 4096


def run(quick: bool) -> list[Line]:
    """Measure with random vectors of 300 dimensions, and with GloVe of 100 where it is to be had."""
    lines = _measure(random_vectors(5_000 if quick else 50_000), quick)
    try:
        real = glove()
    except Skipped as reason:
        print(f"GloVe skipped: {reason}")
        return lines
    return lines + _measure(real, quick)


@dataclass(frozen=True)
class Taken:
    """How long something took, by the clock and in processor time of all threads."""

    clock: float
    processor: float


def timed(task: Callable[[], Any]) -> Taken:
    """Time a task both ways."""
    start, used = time.perf_counter(), time.process_time()
    task()
    return Taken(time.perf_counter() - start, time.process_time() - used)


def large_product() -> Callable[[], Any]:
    """Return the task that stands for the machine's speed: a large matrix product with all threads."""
    import numpy as np
    import threadpoolctl

    square = np.random.default_rng(1).standard_normal((SIDE, SIDE), dtype=np.float32)
    out = np.empty_like(square)

    def work() -> None:
        with threadpoolctl.threadpool_limits(cores(), user_api="blas"):
            np.matmul(square, square, out=out)

    return work


def _measure(vectors: Any, quick: bool) -> list[Line]:
    import quipukit as qk

    size = f"{len(vectors):,} x {vectors.dimension}"
    queries = topics(vectors, 4 if quick else 43)
    variants = 10 if quick else 50

    def obfuscate(specs: list[str], noise: str = "independent") -> int:
        table = qk.obfuscate(queries, specs, variants, vectors=vectors, seed=7, noise=noise)
        return int(table["query"].str.split().str.len().sum())

    points = obfuscate(["CMP@10"])
    operations = 2.0 * points * len(vectors) * vectors.dimension
    tasks: dict[str, Callable[[], Any]] = {
        "search alone": _search_alone(vectors, points),
        "end to end": lambda: obfuscate(["CMP@10"]),
        "sweep": lambda: obfuscate([f"CMP@{epsilon:g}" for epsilon in GRID], "common"),
        "same depth": _plain_product(vectors, points),
    }
    for task in tasks.values():
        task()  # once for nothing: compiles, maps the file, fills caches
    product = large_product()
    product()
    taken: dict[str, list[Taken]] = {what: [] for what in tasks}
    shares: dict[str, list[float]] = {what: [] for what in tasks}
    frugal: dict[str, list[float]] = {what: [] for what in tasks}
    machine = [timed(product)]
    for _ in range(2 if quick else 3):
        for what, task in tasks.items():
            taken[what].append(timed(task))
            machine.append(timed(product))
            # Operations cancel: the share is (time of the product per operation) / (time of the task per operation).
            scale = 100 * operations / (2 * SIDE**3)
            shares[what].append(scale * min(one.clock for one in machine[-2:]) / taken[what][-1].clock)
            frugal[what].append(scale * min(one.processor for one in machine[-2:]) / taken[what][-1].processor)
    rates = [2 * SIDE**3 / one.clock / 1e9 for one in machine]
    print(f"{size}: machine {min(rates):.0f} to {max(rates):.0f} GFlop/s; {points:,} points in each task")

    def share(what: str, task: str, target: Target | None) -> Line:
        values = shares[task]
        cells = (number(min(values)), number(max(values)), number(median(frugal[task])))
        return Line(f"{size} {what} (% of machine)", cells, median(values), target)

    pairs = list(zip(taken["sweep"], taken["end to end"], strict=True))
    sweeps = [many.clock / one.clock for many, one in pairs]
    processor = median([many.processor / one.processor for many, one in pairs])
    lines = [
        share("nearest_two, one epsilon", "search alone", None if quick else SHARE),
        share("obfuscate, one epsilon", "end to end", None if quick else SHARE),
        share("plain product of that shape", "same depth", None),
        Line(
            f"{size} ten epsilons / one epsilon",
            (number(min(sweeps)), number(max(sweeps)), number(processor)),
            median(sweeps),
            None if quick else SWEEP[vectors.dimension],
        ),
    ]
    lines += [
        _as_typed(vectors, name, next(iter(queries.values())), 1 if quick else 7) for name in ("CMP", "Mahalanobis")
    ]
    show(("vectors, what", "lowest", "highest", "by processor time", "by the clock, median"), lines)
    return lines


def _as_typed(vectors: Any, name: str, text: str, rounds: int) -> Line:
    """Compare one variant of one query with a product of its rows with all words: the ratio of their times."""
    import numpy as np

    import quipukit as qk

    mechanism = qk.mechanism(f"{name}@10", vectors=vectors)
    rows = 2 * len(text.split())  # a word's vector and a direction for each
    left = np.random.default_rng(3).standard_normal((rows, vectors.dimension), dtype=np.float32)
    matrix = np.asarray(vectors.matrix)
    tasks = (lambda: mechanism.obfuscate(text), lambda: left @ matrix.T)

    def together(task: Callable[[], Any]) -> Taken:
        time.sleep(0.2)  # the threads of the BLAS spin for a while, and would slow down what comes next
        task()
        one_by_one = [timed(task) for _ in range(10)]
        return Taken(median([one.clock for one in one_by_one]), median([one.processor for one in one_by_one]))

    pairs = [[together(task) for task in tasks] for _ in range(rounds)]
    ratios = [own.clock / product.clock for own, product in pairs]
    processor = median([own.processor / product.processor for own, product in pairs])
    cells = (number(min(ratios)), number(max(ratios)), number(processor))
    size = f"{len(vectors):,} x {vectors.dimension}"
    return Line(f"{size} {name}, one query as it is typed / product of its rows", cells, median(ratios))


def _search_alone(vectors: Any, points: int) -> Callable[[], Any]:
    """Return a search for the two nearest words of noisy points, as a batch of queries with variants gives them."""
    import numpy as np

    from quipukit.vectors.nearest import nearest_two

    rng = np.random.default_rng(2)
    directions = rng.standard_normal((points, vectors.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = rng.standard_gamma(vectors.dimension, (points, 1)) / 10
    # Some six words in turn for the variants of a query, then those of the next.
    bases = np.asarray(vectors.matrix[:20_000:200], np.float64)
    base_of = (np.arange(points) // 300 * 6 + np.arange(points) % 6) % len(bases)
    return lambda: nearest_two(vectors.matrix, vectors.half_norms, bases, base_of, directions, radii)


def _plain_product(vectors: Any, points: int) -> Callable[[], Any]:
    """Return the bare product of as many points with all words, its results thrown away: nothing is searched.

    In tiles that stay in the cache, a thread for each core: what the shape alone costs. With few dimensions, packing
    the factors and writing the scores weigh more beside computing them.
    """
    import numpy as np
    import threadpoolctl

    left = np.random.default_rng(3).standard_normal((points, vectors.dimension), dtype=np.float32)
    matrix = np.asarray(vectors.matrix)
    side = 512

    def block(start: int) -> None:
        rows = left[start : start + side]
        buffer = np.empty(len(rows) * side, np.float32)
        for first in range(0, len(matrix), side):
            tile = matrix[first : first + side]
            np.matmul(rows, tile.T, out=buffer[: len(rows) * len(tile)].reshape(len(rows), len(tile)))

    def work() -> None:
        with threadpoolctl.threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cores()) as pool:
            list(pool.map(block, range(0, points, side)))

    return work
