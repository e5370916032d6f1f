"""What no attacker can exceed against a cover, if queries are drawn from a prior.

What was sent tells the group and nothing else. Given a group g, the best m guesses are its m most probable queries, so
over queries drawn from a prior pi no attacker is right more often than

    sum over groups g of the m largest pi(q), q among the candidates that fall into g.

The bound holds for that prior alone, on average over its queries. It says nothing about one particular query, nor about
users who ask other things than the prior expects: whoever knows that uses another prior.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import InputError


@dataclass(frozen=True)
class PriorBound:
    """The largest P@1 and R@m over queries drawn from a prior, on average, and in the worst group that can be met."""

    lazy: float
    active: float
    worst_lazy: float
    worst_active: float


def prior_bound(groups: ArrayLike, prior: ArrayLike, guesses: int = 10) -> PriorBound:
    """Return the bounds for candidates in these groups with these weights, which need not add up to 1.

    >>> prior_bound([0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 3], guesses=2)
    PriorBound(lazy=0.5, active=0.75, worst_lazy=0.75, worst_active=1.0)
    """
    group, weights = np.asarray(groups, np.int64), np.asarray(prior, np.float64)
    if len(group) != len(weights) or not len(group):
        raise InputError(f"each candidate needs a weight ({len(weights):,} for {len(group):,} candidates).")
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("the weights of a prior must be finite, none below 0, and not all 0.")
    order = np.lexsort((-weights, group))
    ordered, sizes = weights[order], np.bincount(group)
    starts = (np.cumsum(sizes) - sizes)[group[order]]
    place = np.arange(len(order)) - starts
    totals = np.bincount(group, weights)
    lazy, active = (_sums(group[order], ordered, place < most, len(sizes)) for most in (1, guesses))
    met = totals > 0
    return PriorBound(
        float(lazy.sum() / weights.sum()),
        float(active.sum() / weights.sum()),
        float((lazy[met] / totals[met]).max()),
        float((active[met] / totals[met]).max()),
    )


def _sums(
    groups: NDArray[np.int64], weights: NDArray[np.float64], counted: NDArray[np.bool_], count: int
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(groups[counted], weights[counted], count), np.float64)
