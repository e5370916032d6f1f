"""Intervals for the mean of scores between 0 and 1: the one function behind every risk and utility that is shown.

They hold for any number of queries and any distribution of the scores, because none of them is approximated:

- **Hits** (P@1 and R@k of one noise seed are 1 or 0, but for ties): Clopper and Pearson (1934). A query that is level
  with t others has a score between 0 and 1, the chance of being found over the order of ties. If every score x were
  replaced by a coin that falls on 1 with probability x, the coins would be hits with the same mean. The number of hits
  is therefore taken at a quantile, 1 - d, of what the coins give: if the exact bound for the level a (1 - d) misses the
  mean on such a sample, the coins' bound misses it with probability 1 - d or more; so this happens with probability
  a (1 - d) / (1 - d) = a at most. Scores of 0 and 1 leave the coins no choice; d = 0.001 costs next to nothing.
- **Any other score** (reciprocal ranks, nDCG, means over noise seeds): betting (Waudby-Smith and Ramdas 2024). If the
  mean is m, no bet on "below m" gains in expectation: E[1 + c (m - x) / (1 - m)] = 1 for 0 <= c <= 1. The capital after
  all queries, averaged over a fixed set of stakes c, has the expectation 1 and exceeds 1 / a with probability a at most
  (Markov). The bound is the least m at which it does. The order of the queries does not matter, a small variance
  helps, and the mean always lies inside.

Lower bounds are the upper ones of 1 - x.

>>> upper_bounds(np.zeros((43, 1)), 0.05 / 86, hits=True).round(3)
array([0.159])
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import InputError

LEVEL = 0.95

Floats = NDArray[np.float64]

_COIN = 1e-3  # d above
_COIN_SPREADS = 3.0902  # standard deviations to the quantile 1 - d of a normal law
_EXACT = 1000  # queries, up to which the coins of ties are counted one by one
_DUST = 1e-9  # means over seeds may pass 1 by their last digits
_STEPS = 30  # of bisection: to 1e-9
_MOST = 10_000_000  # queries: a limit beyond any experiment


def mean_intervals(scores: ArrayLike, level: float = LEVEL, *, hits: bool) -> tuple[Floats, Floats]:
    """Return low and high ends of an interval for the mean of every column; rows are queries.

    ``hits``: whether the scores are hits, 0 or 1 but for ties; this must follow from what they are, not from a look at
    them.
    """
    alpha = tail(level)
    return lower_bounds(scores, alpha, hits=hits), upper_bounds(scores, alpha, hits=hits)


def upper_bounds(scores: ArrayLike, alpha: float, *, hits: bool) -> Floats:
    """Return bounds that the true mean of a column exceeds with probability ``alpha`` at most."""
    matrix = _checked(scores)
    if hits:
        return clopper_pearson(most_hits(matrix), len(matrix), alpha * (1 - _COIN))
    return _betting_bounds(matrix, alpha)


def lower_bounds(scores: ArrayLike, alpha: float, *, hits: bool) -> Floats:
    """Return bounds that the true mean of a column falls below with probability ``alpha`` at most."""
    return 1 - upper_bounds(1 - _checked(scores), alpha, hits=hits)


def queries_needed(scores: ArrayLike, limit: float, alpha: float, *, hits: bool) -> float:
    """Return how many queries with scores like these it takes for the upper bound of their mean to reach a limit.

    Infinite where the mean itself is not below the limit.

    >>> queries_needed(np.zeros(43), 0.1, 0.05 / 86, hits=True)
    71.0
    """
    column = _checked(np.asarray(scores, np.float64)[:, None])
    mean = float(column.mean())
    if limit >= 1:
        return 1.0
    if mean >= limit - _DUST:
        return math.inf
    ranked, goal, at = np.sort(column, axis=0), -math.log(alpha), np.array([limit])

    def enough(n: int) -> bool:
        if hits:
            return bool(clopper_pearson(_hits_among(ranked, n), n, alpha * (1 - _COIN)) <= limit)
        return bool(_log_capital(column, at, _stakes(n, alpha), n / len(column)) >= goal)

    # Hits are whole numbers, so the bound moves in steps: what these queries did not certify, fewer will not either.
    return _least(enough, above=0 if enough(len(column)) else len(column))


def tail(level: float) -> float:
    """Return the probability of one tail of a two-sided interval."""
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95 (found {level!r}).")
    return (1 - level) / 2


# --- hits ---------------------------------------------------------------------------------------------------------


def clopper_pearson(hits: ArrayLike, queries: int, alpha: float) -> Floats:
    """Return the one-sided upper Clopper-Pearson bound for numbers of hits among that many queries.

    >>> float(clopper_pearson(0, 12, 0.025).round(4))
    0.2646
    """
    from scipy.special import betaincinv

    counts = np.asarray(hits, np.float64)
    missed = queries - counts
    return np.where(missed > _DUST, betaincinv(counts + 1, np.maximum(missed, _DUST), 1 - alpha), 1.0)


def most_hits(scores: Floats) -> NDArray[np.int64]:
    """Return how many hits every column has where ties fall against the user: a quantile of 0.999 over their order.

    >>> most_hits(np.array([[1, 0.5], [0, 0.5], [0, 0]]))
    array([1, 2])
    """
    sure = scores >= 1 - _DUST
    coins = np.where(sure | (scores <= _DUST), 0.0, scores)
    tied = coins > 0
    # The law of the number of coins that fall on 1, a column each, coin by coin.
    law = np.zeros((int(tied.sum(axis=0).max()) + 1, scores.shape[1]))
    law[0] = 1.0
    for chance in coins[tied.any(axis=1)]:
        law[1:] = law[1:] * (1 - chance) + law[:-1] * chance
        law[0] *= 1 - chance
    exceeded = law.cumsum(axis=0) < 1 - _COIN - _DUST
    return np.asarray(sure.sum(axis=0) + exceeded.sum(axis=0))


def _hits_among(ranked: Floats, queries: int) -> float:
    """Return the quantile of `most_hits` for this many queries with scores like these, in order of size."""
    sure = ranked >= 1 - _DUST
    hits, ties = queries * float(sure.mean()), np.where(sure, 0.0, ranked)
    if queries <= _EXACT:
        return hits + float(most_hits(ties[np.arange(queries) * len(ties) // queries])[0])
    spread = math.sqrt(queries * float((ties * (1 - ties)).mean()))  # 0 where there is no tie
    return hits + queries * float(ties.mean()) + _COIN_SPREADS * spread


# --- bets ---------------------------------------------------------------------------------------------------------


def _betting_bounds(scores: Floats, alpha: float) -> Floats:
    stakes, goal = _stakes(len(scores), alpha), -math.log(alpha)
    low, high = scores.mean(axis=0), np.ones(scores.shape[1])
    for _ in range(_STEPS):
        # Every factor rises with m, so the capital does too.
        middle = (low + high) / 2
        enough = _log_capital(scores, middle, stakes) >= goal
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _log_capital(scores: Floats, means: Floats, stakes: Floats, times: float = 1.0) -> Floats:
    """Return the logarithm of the capital after bets that the mean of each column is below these."""
    odds = (means - scores) / np.maximum(1 - means, _DUST)
    with np.errstate(divide="ignore"):  # everything staked and lost: the logarithm of 0
        gains = [np.log1p(np.maximum(stake * odds, -1.0)).sum(axis=0) * times for stake in stakes]
    return np.asarray(np.logaddexp.reduce(gains, axis=0) - math.log(len(stakes)))


def _stakes(queries: int, alpha: float) -> Floats:
    """Return stakes from 1 down to what scores of the largest variance call for, each about 0.7 of the one before."""
    least = min(1.0, math.sqrt(-2 * math.log(alpha) / queries))
    return np.geomspace(1.0, least, 1 + math.ceil(-2 * math.log2(least)))


def _least(holds: Callable[[int], bool], above: int = 0) -> float:
    """Return the least whole number above another that meets a condition which, once met, stays met."""
    low, high = above, above + 1
    while not holds(high):
        low, high = high, 2 * high
        if high > _MOST:
            return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return float(high)


def _checked(scores: ArrayLike) -> Floats:
    matrix = np.asarray(scores, np.float64)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(f"scores must be a table of queries by settings (found an array of shape {matrix.shape}).")
    if not ((matrix >= -_DUST) & (matrix <= 1 + _DUST)).all():
        raise InputError("scores must lie between 0 and 1, or no bound for their mean is known; use another measure.")
    return np.clip(matrix, 0.0, 1.0)
