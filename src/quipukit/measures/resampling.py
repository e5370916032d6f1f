"""Differences and scores over queries: intervals from studentized draws, tests from exchanged labels.

Everything here works on one number per query (rows) whose mean is the statistic; columns are separate questions.

**Interval.** Queries are drawn with replacement, and every draw is divided by its own standard error: the bootstrap-t
(Efron 1982; Hall 1988). The quantiles of these quotients follow a skewed sample; where they lie nearer than Student's,
as they may for few or coarse scores, Student's are taken. Queries that all say the same, or a single one, say nothing
about what another would: there the ends are NaN, not available.

**Test.** p is the larger of two. The first exchanges labels: if it makes no difference which of two results a score
comes from, the sign of every paired difference may be flipped (Fisher 1935), or the scores of two independent samples
may change places, studentized (Janssen 1997). That is exact for any number of queries. Where the means are equal but
the differences are skewed, labels do not exchange, and it rejects too often; so p is never below that of the interval.
docs/reliability.md says how often either is wrong, and when both are.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quipukit.errors import InputError
from quipukit.measures.intervals import LEVEL, Floats, tail

REPLICATES = 2000
FEW = 20  # queries: with fewer, skewed differences may be called significant too often

Seed = int | np.random.Generator
Limits = tuple[ArrayLike, ArrayLike]  # for all columns, or one for each

# Equal columns may come out of a matrix product with unequal last digits.
DUST = 1e-12
_BLOCK = 500  # replicates at a time
_FLAT = 1e-9  # of a standard deviation: as good as none
_MOST_KEPT = 2_000_000  # numbers of draws: 16 MB
_KEPT: dict[tuple[Any, ...], tuple[list[list[Floats]], Mapping[str, Any]]] = {}  # and the state of the generator after


class Judged(NamedTuple):
    """Interval and p-value of every column."""

    low: Floats
    high: Floats
    p: Floats


def studentized_intervals(
    values: Floats,
    level: float = LEVEL,
    *,
    limits: Limits,
    replicates: int = REPLICATES,
    seed: Seed = 0,
) -> tuple[Floats, Floats]:
    """Return low and high ends of an interval for the mean of every column; ``limits`` are what it can be at all."""
    return _interval([values], values.mean(axis=0), level, limits, replicates, seed)[:2]


def judge_paired(
    differences: Floats, level: float = LEVEL, *, limits: Limits, replicates: int = REPLICATES, seed: Seed = 0
) -> Judged:
    """Return the interval of every column's mean and the p-value of its being 0, from paired differences."""
    rng = np.random.default_rng(seed)
    means = differences.mean(axis=0)
    low, high, p = _interval([differences], means, level, limits, replicates, rng)
    return Judged(low, high, np.maximum(p, _flipped(differences, means, replicates, rng)))


def judge_unpaired(
    first: Floats, second: Floats, level: float = LEVEL, *, limits: Limits, replicates: int = REPLICATES, seed: Seed = 0
) -> Judged:
    """Return the same for the difference of the means of two independent samples."""
    rng = np.random.default_rng(seed)
    difference = first.mean(axis=0) - second.mean(axis=0)
    low, high, p = _interval([first, second], difference, level, limits, replicates, rng)
    return Judged(low, high, np.maximum(p, _exchanged(first, second, replicates, rng)))


def flip_bound(differences: Floats) -> float:
    """Return a number that the p-value of all flipped signs does not exceed, without drawing any (Hoeffding 1963).

        P(|sum of +-d| >= |sum of d|) <= 2 exp(-(sum of d)^2 / (2 sum of d^2))

    Draws cannot resolve p-values below one over their number, as a correction for many settings calls for.
    """
    squares = float((differences**2).sum())
    return min(1.0, 2 * math.exp(-(float(differences.sum()) ** 2) / (2 * squares))) if squares > 0 else 1.0


# --- draws --------------------------------------------------------------------------------------------------------


def _interval(
    samples: list[Floats], estimate: Floats, level: float, limits: Limits, replicates: int, seed: Seed
) -> tuple[Floats, Floats, Floats]:
    """Return interval and p-value of a mean, or of the difference of two."""
    if replicates < 1:
        raise InputError(f"replicates must be a whole number of at least 1 (found {replicates!r}).")
    rng, below = np.random.default_rng(seed), tail(level)
    if min(map(len, samples)) < 2:
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan), np.ones_like(estimate)
    # Centered: the law of the quotient is drawn around the sample's own mean, and keeps its digits.
    centered = [sample - sample.mean(axis=0) for sample in samples]
    error = np.sqrt(sum(side.var(axis=0) / len(side) for side in centered))
    flat = error <= _FLAT * np.abs(estimate) + DUST
    centered = [np.where(flat, 0.0, side) for side in centered]
    weights = _weights(tuple(map(len, samples)), replicates, rng)
    drawn = np.concatenate([_quotients(centered, own, error) for own in weights])
    student = _student(min(map(len, samples)), below)
    lowest = np.minimum(np.quantile(drawn, below, axis=0, method="lower"), -student)
    highest = np.maximum(np.quantile(drawn, 1 - below, axis=0, method="higher"), student)
    with np.errstate(invalid="ignore"):  # no spread times an endless quotient
        low, high = estimate - highest * error, estimate - lowest * error
    low, high = (np.where(flat, np.nan, np.clip(end, *limits)) for end in (low, high))
    ratio = np.divide(estimate, error, out=np.copysign(np.inf, estimate), where=~flat)
    ratio = np.where(np.abs(estimate) <= DUST, 0.0, ratio)
    sides = [1 + np.count_nonzero(side, axis=0) for side in (drawn >= ratio, drawn <= ratio)]
    return low, high, np.minimum(1.0, 2 * np.minimum(*sides) / (replicates + 1))


def _student(queries: int, below: float) -> float:
    """Return Student's quantile for errors that divide by n, not n - 1; of two samples the smaller one counts."""
    from scipy.special import stdtrit

    return float(-stdtrit(queries - 1, below) * math.sqrt(queries / (queries - 1)))


def _weights(sizes: tuple[int, ...], replicates: int, rng: np.random.Generator) -> Iterable[list[Floats]]:
    """Return block by block how much every query of samples of these sizes counts in each draw.

    The last ones are kept: one comparison asks for the same draws, from the same seed, for one score after another.
    """
    if replicates * sum(sizes) > _MOST_KEPT:
        return _drawn_weights(sizes, replicates, rng)
    key = (repr(rng.bit_generator.state), replicates, *sizes)
    kept = _KEPT.get(key)
    if kept is None:
        kept = list(_drawn_weights(sizes, replicates, rng)), dict(rng.bit_generator.state)
        _KEPT.clear()
        _KEPT[key] = kept
    weights, rng.bit_generator.state = kept
    return weights


def _drawn_weights(sizes: tuple[int, ...], replicates: int, rng: np.random.Generator) -> Iterator[list[Floats]]:
    for count in _blocks(replicates):
        yield [rng.multinomial(n, np.full(n, 1 / n), size=count) / n for n in sizes]


def _quotients(centered: list[Floats], drawn: list[Floats], error: Floats) -> Floats:
    shape = (len(drawn[0]), centered[0].shape[1])
    shift, spread = np.zeros(shape), np.zeros(shape)
    for sign, sample, weights in zip((1, -1), centered, drawn, strict=False):
        means = weights @ sample
        shift += sign * means
        spread += np.maximum(weights @ sample**2 - means**2, 0.0) / len(sample)
    return _quotient(shift, np.sqrt(spread), error)


def _quotient(shift: Floats, error: Floats, scale: Floats) -> Floats:
    """Divide; where nothing spreads, a shift counts as endless and none as none."""
    flat = error <= _FLAT * scale
    endless = np.where(np.abs(shift) <= _FLAT * scale, 0.0, np.copysign(np.inf, shift))
    return np.divide(shift, error, out=endless, where=~flat)


# --- labels -------------------------------------------------------------------------------------------------------


def _flipped(differences: Floats, means: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    n = len(differences)
    level = np.abs(means) - DUST
    if 2**n <= replicates:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return np.asarray((np.abs(signs @ differences / n) >= level).mean(axis=0))
    passed = np.ones(len(means))
    for count in _blocks(replicates):
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(count, n), dtype=np.int8)
        passed += np.count_nonzero(np.abs(signs @ differences / n) >= level, axis=0)
    return passed / (replicates + 1)


def _exchanged(first: Floats, second: Floats, replicates: int, rng: np.random.Generator) -> Floats:
    pooled = np.concatenate([first, second])
    pooled = pooled - pooled.mean(axis=0)
    labels = np.arange(len(pooled)) < len(first)
    scale = pooled.std(axis=0)

    def quotients(chosen: Floats) -> Floats:
        shift, spread = np.zeros((len(chosen), pooled.shape[1])), np.zeros((len(chosen), pooled.shape[1]))
        for sign, side in ((1, chosen), (-1, 1 - chosen)):
            n = side[0].sum()
            means = side @ pooled / n
            shift += sign * means
            spread += np.maximum(side @ pooled**2 / n - means**2, 0.0) / n
        return np.abs(_quotient(shift, np.sqrt(spread), scale))

    observed = quotients(labels[None].astype(np.float64))[0] * (1 - _FLAT)
    passed = np.ones(len(observed))
    for count in _blocks(replicates):
        chosen = rng.permuted(np.tile(labels, (count, 1)), axis=1).astype(np.float64)
        passed += np.count_nonzero(quotients(chosen) >= observed, axis=0)
    return passed / (replicates + 1)


def _blocks(replicates: int) -> Iterator[int]:
    for start in range(0, replicates, _BLOCK):
        yield min(_BLOCK, replicates - start)
