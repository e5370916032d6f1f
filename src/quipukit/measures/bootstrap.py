"""How far chance can move the score of a curve, and whether it explains the difference of two.

Queries are a sample of what people ask. A risk is a mean over all queries that were sent, a utility a mean over those
with judgments. The score of a curve is no mean, but nearly one: leaving out query q moves it from t to t(-q), and

    v(q) = t + (n - 1) (mean of all t(-r) - t(-q))

are numbers per query whose mean is the score, and whose spread is that of the score (jackknife, Tukey 1958; for a mean
they are the scores of the queries themselves). Intervals and tests are those of `quipukit.measures.resampling` on these
numbers. Differences of two mechanisms are formed query by query, so that what both have in common stays out of them.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from quipukit.errors import InputError
from quipukit.measures.curves import Order, area, hypervolume, ordered
from quipukit.measures.intervals import LEVEL, Floats
from quipukit.measures.resampling import DUST, REPLICATES, Seed, judge_paired, studentized_intervals
from quipukit.measures.sides import CURVE_NAME, Curve, Side, Sides, pair_sides
from quipukit.settings import ORIGINAL

LEAST_FOUND = 2  # queries that an attacker found, without which no interval of a score is given
Score = Literal["quipu", "hypervolume"]
Statistic = Callable[[Floats, Floats, Floats], Floats]


def bootstrap_scores(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    *,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: Seed = 0,
    order: Order = "parameter",
    hides_more: Mapping[str, str] | None = None,
    attackers: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return QuIPU and hypervolume of every mechanism, attacker, persona and measure of utility, with intervals.

    ``risks`` and ``utilities`` are Scores, per query. Columns: mechanism, attacker, persona, measure, quipu, low, high,
    error (the standard error), hypervolume, hypervolume_low, hypervolume_high, queries. The hypervolume is over the
    utility of Identity, as far as these queries know it, and over 1 where Identity is absent. ``attackers`` limits the
    rows to some; where there are several, "strongest" is one of them.

    The ends of an interval are NaN where the queries cannot determine them: where all say the same, and where the
    attacker found fewer than two queries at any setting, for draws of queries know nothing of hits that none of them
    had.
    """
    sides = pair_sides(risks, utilities, hides_more)
    curves = _curves(sides, attackers)
    values, volumes = (_per_query(sides, curves, score) for score in (_quipu(order), hypervolume))
    # One call, so that both scores are of the same draws.
    both = np.column_stack([values, volumes])
    most = np.concatenate([_reaches(sides, curves, order), np.ones(len(curves))])
    least = np.concatenate([-most[: len(curves)], np.zeros(len(curves))])
    drawn = studentized_intervals(both, level, limits=(least, most), replicates=replicates, seed=seed)
    enough = [(sides.risk_of(curve).scores > 0).any(axis=1).sum() >= LEAST_FOUND for curve in curves]
    ends = [np.where(enough * 2, end, np.nan) for end in drawn]
    bounds, volume_ends = ([end[part] for end in ends] for part in np.split(np.arange(len(both.T)), 2))
    error = values.std(axis=0) / np.sqrt(len(values))
    numbers = zip(values.mean(axis=0), *bounds, error, volumes.mean(axis=0), *volume_ends, strict=True)
    rows = [(*curve.name, *own, len(sides.qids)) for curve, own in zip(curves, numbers, strict=True)]
    volume_columns = ["hypervolume", "hypervolume_low", "hypervolume_high"]
    return pd.DataFrame(rows, columns=[*CURVE_NAME, "quipu", "low", "high", "error", *volume_columns, "queries"])


def compare(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    *,
    mechanisms: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: Seed = 0,
    order: Order = "parameter",
    hides_more: Mapping[str, str] | None = None,
    score: Score = "quipu",
    attackers: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the paired differences of QuIPU scores between mechanisms, and whether chance explains them.

    With ``score="hypervolume"`` the differences are those of hypervolumes.

    One row per pair, attacker, persona and measure: first, second, attacker, persona, measure, difference (first -
    second), low, high, p, p_holm, queries. Interval and p are those of `judge_paired`; p is never below 2 / (B + 1) for
    B replicates, nor below 2^(1 - n) for n queries. ``p_holm`` is p after Holm's correction for all pairs of the same
    attacker, persona and measure. With fewer than 20 queries, mind what docs/reliability.md says.
    """
    sides = pair_sides(risks, utilities, hides_more)
    curves = _curves(sides, attackers)
    values = _per_query(sides, curves, _quipu(order) if score == "quipu" else hypervolume)
    reaches = _reaches(sides, curves, order) if score == "quipu" else np.full(len(curves), 0.5)
    known = list(dict.fromkeys(curve.mechanism for curve in curves))
    for name in mechanisms or ():
        if name not in known:
            raise InputError(f"there is no mechanism {name!r} in the scores; they hold {', '.join(known)}.")
    wanted = known if mechanisms is None else list(dict.fromkeys(mechanisms))
    if len(wanted) < 2:
        raise InputError("a comparison needs two mechanisms or more; give the scores of another one.")
    column = {curve.name: number for number, curve in enumerate(curves)}
    rows = []
    for risk in dict.fromkeys(curve.name[1:] for curve in curves):
        pairs = list(itertools.combinations(wanted, 2))
        own, other = ([column[pair[side], *risk] for pair in pairs] for side in (0, 1))
        differences, most = values[:, own] - values[:, other], reaches[own] + reaches[other]
        judged = judge_paired(differences, level, limits=(-most, most), replicates=replicates, seed=seed)
        numbers = zip(differences.mean(axis=0), *judged, holm(judged.p), strict=True)
        rows += [
            (*pair, *risk, *own_numbers, len(sides.qids)) for pair, own_numbers in zip(pairs, numbers, strict=True)
        ]
    columns = ["first", "second", *CURVE_NAME[1:], "difference", "low", "high", "p", "p_holm", "queries"]
    return pd.DataFrame(rows, columns=columns)


def _curves(sides: Sides, attackers: Sequence[str] | None) -> list[Curve]:
    return [curve for curve in sides.curves() if attackers is None or curve.attacker in attackers]


def holm(p_values: ArrayLike) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down rule: the i-th smallest of m times m - i + 1.

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(steps, 1.0)
    return [float(p) for p in corrected]


def per_query(risk: Side, utility: Side, statistic: Statistic | None = None, original: Side | None = None) -> Floats:
    """Return numbers per query whose mean is the score of a curve: see the top of this module.

    ``statistic`` is the score of curves, points along the last axis, from risk, utility and the utility of the original
    queries (``original``, else 1): QuIPU where it is not given.
    """
    score_of = statistic or _quipu("parameter")
    top = Side(np.ones((len(risk.scores), 1)), risk.known) if original is None else original
    score = float(score_of(risk.means, utility.means, top.means[0]))
    left = score_of(risk.without_each(), utility.without_each(), top.without_each()[:, 0])
    return np.asarray(score + (len(left) - 1) * (left.mean() - left))


def reach(risk: Side, utility: Side, order: Order = "parameter") -> float:
    """Return how far from 0 the QuIPU score can be of a curve that turns back as much as this one.

    1 where s never turns. A level of s is crossed twice more for each time that s falls through it, and no crossing is
    farther than 1 / sqrt(2) from the diagonal: with falls of r + u by b in all, |QuIPU| <= 1 + 2 b.
    """
    steps = np.diff(np.add(*ordered(risk.means, utility.means, order)))
    return 1.0 - 2.0 * float(steps[steps < -DUST].sum())


def _reaches(sides: Sides, curves: Sequence[Curve], order: Order) -> Floats:
    own = ((sides.risk_of(curve), sides.utility_of(curve)) for curve in curves)
    return np.array([reach(*pair, order) for pair in own])


def _quipu(order: Order) -> Statistic:
    return lambda r, u, original: area(*ordered(r, u, order))


def _per_query(sides: Sides, curves: Sequence[Curve], statistic: Statistic) -> Floats:
    """Return numbers per query (rows) whose means are the scores of the curves (columns)."""
    originals = {curve.measure: sides.utility_of(curve) for curve in curves if curve.mechanism == ORIGINAL}
    columns = [
        per_query(
            sides.risk_of(curve),
            sides.utility_of(curve),
            statistic,
            originals.get(curve.measure),
        )
        for curve in curves
    ]
    return np.column_stack(columns)
