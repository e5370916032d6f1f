"""How often is a recommended setting over budget? 86 settings, a budget of 0.1, many experiments with known truth."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.table import Line, Target, show

QUESTION = "how often is the setting that recommend names truly over its budget of risk?"
NOMINAL = 0.05
SETTINGS, BUDGET = 86, 0.1
QUERIES = (43, 100, 250, 500)
_OVER = 0.1001  # a risk just over the budget: where a wrong certificate is likeliest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """What is true in an experiment: the risk and utility of every setting, and how the scores of queries spread."""

    risk: Floats
    utility: Floats
    hits: bool
    draw: Callable[[np.random.Generator, int, Floats], Floats]


@dataclass(frozen=True)
class Rates:
    """Shares of all experiments: a wrong certificate, any certificate, and what former rules would have named.

    ``by_mean_wrong``: the best utility among the settings with a mean risk within the budget. ``uncorrected_wrong``:
    the best whose own Clopper-Pearson bound (97.5 %) keeps it, which was called safe.
    """

    certified_wrong: float
    certified: float
    by_mean_wrong: float
    uncorrected_wrong: float


def _hits(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    return (rng.random((queries, len(risk))) < risk).astype(np.float64)


def _shared(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    """Draw hits that depend on how easy a query is, the same for all settings."""
    from scipy.special import ndtr

    ease = rng.standard_normal((queries, 1))
    return (ndtr((ease + rng.standard_normal((queries, len(risk)))) / math.sqrt(2)) < risk).astype(np.float64)


def _ties(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    """Draw found, tied with one other, tied with nineteen others, not found: mean 0.0451 + 0.05 + 0.005."""
    return rng.choice((1.0, 0.5, 0.05, 0.0), size=(queries, len(risk)), p=(0.0451, 0.1, 0.1, 0.7549))


# Ranks are 1, or spread evenly in the logarithm from 2 to 10,000.
_FAR = (1 / 2 - 1 / 10_000) / math.log(5000)
_FIRST = (_OVER - _FAR) / (1 - _FAR)


def _reciprocal(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    size = queries, len(risk)
    return np.where(rng.random(size) < _FIRST, 1.0, 1 / np.exp(rng.uniform(math.log(2), math.log(10_000), size)))


def _three_seeds(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    """Draw means over three noise seeds; most queries are hard to find, and some easy."""
    chance = rng.beta(0.3, 0.3 / _OVER - 0.3, (queries, len(risk)))
    return rng.binomial(3, chance) / 3


def _graded(rng: np.random.Generator, queries: int, risk: Floats) -> Floats:
    """Draw scores of any size, most of them small."""
    return rng.beta(0.3, 0.3 / risk - 0.3, (queries, len(risk)))


def _level(draw: Callable[[np.random.Generator, int, Floats], Floats], hits: bool) -> Truth:
    return Truth(np.full(SETTINGS, _OVER), np.full(SETTINGS, 0.5), hits, draw)


_SPREAD = np.geomspace(0.01, 0.9, SETTINGS)
TRUTHS = {
    "just over": _level(_hits, True),
    "just over, shared ease": _level(_shared, True),
    "mixed, riskier finds more": Truth(_SPREAD, 0.1 + 0.5 * np.sqrt(_SPREAD), True, _shared),
    "ties": _level(_ties, True),
    "mixed, graded scores": Truth(_SPREAD, 0.1 + 0.5 * np.sqrt(_SPREAD), False, _graded),
    "reciprocal ranks": _level(_reciprocal, False),
    "three seeds": _level(_three_seeds, False),
}


def simulate(truth: Truth, queries: int, runs: int, seed: int = 0) -> Rates:
    """Draw experiments, and choose in each as `quipukit.recommend` does and as it did before."""
    from quipukit.measures.intervals import clopper_pearson, upper_bounds
    from quipukit.recommend.selection import select

    rng = np.random.default_rng(seed)
    alpha = NOMINAL / len(truth.risk)
    wrong = dict.fromkeys(("bound", "mean", "own"), 0)
    certified = 0
    for _ in range(runs):
        scores = truth.draw(rng, queries, truth.risk)
        mean = scores.mean(axis=0)
        utility = truth.utility + rng.normal(0, 0.3 / math.sqrt(queries), len(truth.risk))
        simultaneous = np.full(len(mean), math.inf)
        within = mean <= BUDGET  # no bound lies below its mean: the others need none
        if within.any():
            simultaneous[within] = upper_bounds(scores[:, within], alpha, hits=truth.hits)
        bounds = {
            "bound": simultaneous,
            "mean": mean,
            "own": clopper_pearson(scores.sum(axis=0), queries, 0.025),
        }
        for name, bound in bounds.items():
            chosen = select(bound, utility, BUDGET, -math.inf)
            wrong[name] += int(chosen >= 0 and truth.risk[chosen] > BUDGET)
            certified += int(name == "bound" and chosen >= 0)
    return Rates(wrong["bound"] / runs, certified / runs, wrong["mean"] / runs, wrong["own"] / runs)


def run(quick: bool) -> list[Line]:
    """Simulate every truth at every number of queries."""
    runs = 100 if quick else 1000
    # A share of 5 % may come out above it by chance: the target allows 3 standard errors.
    target = Target(NOMINAL + 3 * math.sqrt(NOMINAL * (1 - NOMINAL) / runs), at_most=True)
    lines = []
    for name, truth in TRUTHS.items():
        for queries in QUERIES:
            start = time.perf_counter()
            rates = simulate(truth, queries, runs)
            cells = f"{rates.certified:.3f}", f"{rates.by_mean_wrong:.3f}", f"{rates.uncorrected_wrong:.3f}"
            seconds = f"{time.perf_counter() - start:.0f} s"
            lines.append(Line(f"{name}, {queries} queries", (*cells, seconds), rates.certified_wrong, target))
    show(("truth", "any certified", "by mean: wrong", "own bound: wrong", "time", "certified: wrong"), lines)
    return lines
