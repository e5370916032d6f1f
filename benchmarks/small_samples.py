"""How often does a test at 5 % call equal things different? Paired differences of few queries, even and skewed."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Line, Target, show

QUESTION = "how often does a paired test at 5 % call equal means different, with few queries?"
LEVEL = 0.05
QUERIES = (10, 20, 43)
_BLOCK = 250  # samples at a time

Floats = NDArray[np.float64]
Law = Callable[[np.random.Generator, tuple[int, int]], Floats]


@dataclass(frozen=True)
class Rates:
    """Shares of samples that are called different, though the means are equal."""

    paired: float  # quipukit.measures.resampling.judge_paired
    percentile: float  # the percentile bootstrap, as before
    covered: float  # by the interval of judge_paired


_RISK, _UTILITY = (0.02, 0.1, 0.3, 0.6, 0.9), (0.1, 0.3, 0.5, 0.6, 0.65)  # of a curve's five settings


def _scores(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
    """Draw differences of QuIPU scores, query by query, of two curves with the same law and the same easy queries."""
    columns = []
    for _ in range(size[1]):
        ease = rng.standard_normal((size[0], 1))
        columns.append(_curve(rng, ease) - _curve(rng, ease))
    return np.column_stack(columns)


def _curve(rng: np.random.Generator, ease: Floats) -> Floats:
    from scipy.special import ndtr

    from quipukit.measures.bootstrap import Side, per_query

    noise, everyone = rng.standard_normal((2, len(ease), len(_RISK))), np.ones(len(ease), bool)
    risk = (ndtr((ease + noise[0]) / math.sqrt(2)) < _RISK).astype(np.float64)
    utility = np.clip(_UTILITY * (0.4 + 0.6 * ndtr(ease)) + 0.1 * noise[1], 0, 1)
    return per_query(Side(risk, everyone), Side(utility, everyone))


LAWS: dict[str, Law] = {
    "normal": lambda rng, size: rng.normal(0, 0.1, size),
    "uniform": lambda rng, size: rng.uniform(-1, 1, size),
    "hits": lambda rng, size: 1.0 * (rng.random(size) < 0.3) - (rng.random(size) < 0.3),
    "QuIPU": _scores,
    "nDCG": lambda rng, size: rng.beta(0.4, 1.6, size) - rng.beta(4, 16, size),
    "exponential": lambda rng, size: rng.exponential(0.1, size) - 0.1,
    "lognormal": lambda rng, size: 0.1 * (rng.lognormal(0, 1, size) - math.exp(0.5)),
    "few large": lambda rng, size: np.where(rng.random(size) < 0.1, 0.9, -0.1) + rng.normal(0, 0.01, size),
}
# Where most queries lose a little and one in ten wins much, ten queries often hold none of the winners.
SKEWED = ("exponential", "lognormal", "few large")


def error_rates(law: Law, queries: int, runs: int, seed: int = 0) -> Rates:
    """Test many samples of differences whose mean is 0."""
    from quipukit.measures.resampling import judge_paired

    rng = np.random.default_rng(seed)
    paired = percentile = covered = 0
    for start in range(0, runs, _BLOCK):
        differences = law(rng, (queries, min(_BLOCK, runs - start)))
        low, high, p = judge_paired(differences, limits=(-9.0, 9.0), replicates=999, seed=rng)
        paired += int((p <= LEVEL).sum())
        covered += int(((low <= 0) & (high >= 0)).sum())
        drawn = rng.multinomial(queries, np.full(queries, 1 / queries), size=999) / queries @ differences
        ends = np.quantile(drawn, (LEVEL / 2, 1 - LEVEL / 2), axis=0)
        percentile += int(((ends[0] > 0) | (ends[1] < 0)).sum())
    return Rates(paired / runs, percentile / runs, covered / runs)


def run(quick: bool) -> list[Line]:
    """Test every law at every number of queries."""
    runs = 250 if quick else 2000
    # A share of 5 % may come out above it by chance: the target allows 3 standard errors.
    target = Target(LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / runs), at_most=True)
    lines = []
    for name, law in LAWS.items():
        for queries in QUERIES:
            start = time.perf_counter()
            rates = error_rates(law, queries, runs)
            cells = f"{rates.percentile:.3f}", f"{rates.covered:.3f}", f"{time.perf_counter() - start:.0f} s"
            # What skewed differences of few queries cost is reported, not judged: no test can help it.
            judged = None if name in SKEWED and queries < 43 else target
            lines.append(Line(f"{name}, {queries} queries", cells, rates.paired, judged))
    show(("differences", "percentile bootstrap", "interval covers", "time", "called different"), lines)
    return lines
