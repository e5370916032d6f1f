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
    # By Neyman and Pearson the best sets are those of the outcomes with the largest ratios.
    order = seen[np.argsort(-(counts[seen] + 0.5) / (against[seen] + 0.5), kind="stable")]
    features = _Features(outcomes, counts, against, one, other)
    # One call for all candidates: the bounds take most of the time.
    hits = np.concatenate([counts[seen], np.cumsum(counts[order]), features.hits])
    others = np.concatenate([against[seen], np.cumsum(against[order]), features.against])
    singles, sums, of_features = np.split(loss_bound(hits, others, total, alpha), [len(seen), 2 * len(seen)])

    single = seen[int(np.argmax(singles))]
    several = order[: int(np.argmax(sums)) + 1]
    names = ", ".join(_text(outcomes.known[code]) for code in several[:_SHOWN])
    more = f" and {len(several) - _SHOWN:,} more" if len(several) > _SHOWN else ""
    events = [
        Event(f"the output is {_text(outcomes.known[single])}", np.array([single])),
        Event(f"the output is one of {names}{more}", several),
    ]
    return [*events, features.event(int(np.argmax(of_features)))] if len(of_features) else events


class _Features:
    """How often each value of each feature came out of two inputs."""

    def __init__(self, outcomes: Outcomes, counts: Counts, against: Counts, one: str, other: str) -> None:
        self._sets = list(outcomes.about(one, other))
        self._partitions = list(outcomes.partitions())
        hits = [np.array([each[codes].sum() for _, codes in self._sets]) for each in (counts, against)]
        for _, values, number in self._partitions:
            hits[0] = np.concatenate([hits[0], np.bincount(number, counts, len(values))])
            hits[1] = np.concatenate([hits[1], np.bincount(number, against, len(values))])
        self.hits, self.against = hits

    def event(self, place: int) -> Event:
        """Return a candidate as an event."""
        if place < len(self._sets):
            return Event(*self._sets[place])
        place -= len(self._sets)
        for name, values, number in self._partitions:
            if place < len(values):
                return Event(f"of the output, {name}: {_value(values[place])}", np.flatnonzero(number == place))
            place -= len(values)
        raise IndexError(place)


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
