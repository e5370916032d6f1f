"""Events: what to look at in the outputs of two inputs, chosen on one half of the draws and tested on the other.

The loss of an event E is ln P(E | x) - ln P(E | x'). Clopper-Pearson bounds for both probabilities give a lower bound.
They hold for an event that was fixed beforehand, so the draws that choose it must not be those that test it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.auditing.outcomes import Counts, Outcome, Outcomes

Floats = NDArray[np.float64]

EVENTS = 3  # of each ordered pair: one outcome, several outcomes, a feature of the outcome
_SHOWN = 3


def lower(hits: Any, total: int, alpha: float) -> Floats:
    """Return Clopper-Pearson's lower bound of a probability, which is wrong with probability alpha at most.

    >>> lower([0, 5, 10], 10, 0.025).round(3).tolist()
    [0.0, 0.187, 0.692]
    """
    from scipy.special import betaincinv

    counts = np.asarray(hits, np.float64)
    return np.where(counts > 0, betaincinv(np.maximum(counts, 1), total - counts + 1, alpha), 0.0)


def upper(hits: Any, total: int, alpha: float) -> Floats:
    """Return Clopper-Pearson's upper bound of a probability, which is wrong with probability alpha at most.

    >>> upper([0, 5, 10], 10, 0.025).round(3).tolist()
    [0.308, 0.813, 1.0]
    """
    from scipy.special import betaincinv

    counts = np.asarray(hits, np.float64)
    return np.where(counts < total, betaincinv(counts + 1, np.maximum(total - counts, 1), 1 - alpha), 1.0)


def loss_bound(hits: Any, against: Any, total: int, alpha: float) -> Floats:
    """Return a lower bound of ln P(E | x) - ln P(E | x'), from counts of so many draws of each; alpha for each side."""
    with np.errstate(divide="ignore"):
        return np.log(lower(hits, total, alpha)) - np.log(upper(against, total, alpha))


def largest_bound(total: int, alpha: float) -> float:
    """Return the largest loss that so many draws can show: all of one input's against none of the other's.

    >>> round(largest_bound(500_000, 1e-6), 1)
    10.5
    """
    return float(loss_bound(total, 0, total, alpha))


@dataclass(frozen=True)
class Event:
    """A set of outcomes, by their codes."""

    name: str
    codes: Counts

    def hits(self, counts: Counts) -> int:
        """Return how many of the draws are in it."""
        return int(counts[self.codes].sum())


def choose_events(
    outcomes: Outcomes, counts: Counts, against: Counts, one: str, other: str, alpha: float
) -> list[Event]:
    """Return events that look likelier under one input than under the other, from half of the draws: EVENTS at most."""
    total = int(counts.sum())
    seen = np.flatnonzero(counts)
    if not len(seen):
        return []
    bounds = loss_bound(counts[seen], against[seen], total, alpha)
    single = seen[int(np.argmax(bounds))]
    events = [Event(f"the output is {_text(outcomes.known[single])}", np.array([single]))]

    # By Neyman and Pearson the best sets are those of the outcomes with the largest ratios.
    order = seen[np.argsort(-(counts[seen] + 0.5) / (against[seen] + 0.5), kind="stable")]
    sums = loss_bound(np.cumsum(counts[order]), np.cumsum(against[order]), total, alpha)
    several = order[: int(np.argmax(sums)) + 1]
    names = ", ".join(_text(outcomes.known[code]) for code in several[:_SHOWN])
    more = f" and {len(several) - _SHOWN:,} more" if len(several) > _SHOWN else ""
    events.append(Event(f"the output is one of {names}{more}", several))
    return [*events, *_best_feature(outcomes, counts, against, one, other, alpha)]


def _best_feature(
    outcomes: Outcomes, counts: Counts, against: Counts, one: str, other: str, alpha: float
) -> list[Event]:
    total = int(counts.sum())
    best, event = -np.inf, list[Event]()
    for name, codes in outcomes.about(one, other):
        bound = float(loss_bound(counts[codes].sum(), against[codes].sum(), total, alpha))
        if bound > best:
            best, event = bound, [Event(name, codes)]
    for name, values, number in outcomes.partitions():
        hits, others = (np.bincount(number, each, len(values)) for each in (counts, against))
        bounds = loss_bound(hits, others, total, alpha)
        value = int(np.argmax(bounds))
        if bounds[value] > best:
            best = float(bounds[value])
            event = [Event(f"of the output, {name}: {_value(values[value])}", np.flatnonzero(number == value))]
    return event


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " | ".join(map(str, value[:_SHOWN])) + (" ..." if len(value) > _SHOWN else "")
    return str(value)


def _text(outcome: Outcome) -> str:
    if len(outcome) == 1:
        return repr(outcome[0])
    more = f" ... ({len(outcome)} texts)" if len(outcome) > _SHOWN else ""
    return repr(" | ".join(outcome[:_SHOWN]) + more)
