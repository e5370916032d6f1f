"""Where the settings of a mechanism go: to the part of its scale where risk and utility move.

A fixed grid wastes settings where nothing changes any more, and misses what happens between two others. Here the ends
of the grid are moved out until nothing is left to hide, or to find; then the largest step between two neighbors is
halved, on the logarithmic scale of the parameter, until no step is large. All of it is decided by numbers that are
measured once for each setting, so the same measurements place the same settings.
"""

import itertools
import math
from dataclasses import dataclass, field

MOST = 10  # settings of a mechanism, as many as the papers have
_TRIED = 16  # measured at most: those where nothing moves are dropped
_OUT = 4.0  # the factor by which an end is moved
_LITTLE, _NEARLY_ALL = 0.1, 0.9
_STEP = 0.1  # a step that is worth a setting
_FARTHEST = 6  # how many times an end is moved at most


@dataclass(frozen=True)
class Point:
    """What a setting does, each from 0 to 1: risk against each of some attackers, and the share that is still found."""

    risks: tuple[float, ...]
    utility: float | None = None

    @property
    def coordinates(self) -> tuple[float, ...]:
        """Return what may move: the strongest attacker's risk, the first one's, and utility."""
        risks = (max(self.risks), self.risks[0]) if self.risks else ()
        return (*risks, *(() if self.utility is None else (self.utility,)))

    def step(self, other: "Point") -> float:
        """Return by how much the coordinate changes that changes most."""
        return max((abs(a - b) for a, b in zip(self.coordinates, other.coordinates, strict=True)), default=0.0)


@dataclass
class Placement:
    """The settings of one mechanism whose parameter is positive and hides less the larger it is."""

    start: tuple[float, ...]  # the mechanism's own grid, of which the ends are taken
    points: dict[float, Point] = field(default_factory=dict)

    def wanted(self) -> list[float]:
        """Return the values to be measured next; none when all settings are placed."""
        low, high = min(self.start), max(self.start)
        first = [one for one in dict.fromkeys((low, _middle(low, high), high)) if one not in self.points]
        if first:
            return first
        if len(self.points) >= _TRIED:
            return []
        ends = self._ends()
        if ends:
            return ends
        values = sorted(self.points)
        steps = [(self._step(a, b), -number) for number, (a, b) in enumerate(itertools.pairwise(values))]
        for size, place in sorted(steps, reverse=True):
            if size <= _STEP or len(self.placed()) >= MOST:
                return []
            value = _middle(values[-place], values[-place + 1])
            if value not in self.points:
                return [value]
        return []

    def placed(self) -> list[float]:
        """Return the settings, in rising order: those measured, less the ones beyond which nothing moves."""
        values = sorted(self.points)
        while len(values) > 2 and self._step(values[0], values[1]) <= _STEP / 4:
            values = values[1:]
        while len(values) > 2 and self._step(values[-2], values[-1]) <= _STEP / 4:
            values = values[:-1]
        return values

    def _ends(self) -> list[float]:
        values, low, high = sorted(self.points), min(self.start), max(self.start)
        found = []
        least, most = self.points[values[0]], self.points[values[-1]]
        if max(least.coordinates, default=0.0) > _LITTLE and values[0] > low / _OUT**_FARTHEST:
            found.append(_rounded(values[0] / _OUT))
        # Not every mechanism gives everything away at some setting: once something is found, that must change much.
        top = max(most.coordinates, default=1.0)
        moved = values[-1] <= high or top <= _LITTLE or self._step(*values[-2:]) > _STEP
        if top < _NEARLY_ALL and moved and values[-1] < high * _OUT**_FARTHEST:
            found.append(_rounded(values[-1] * _OUT))
        return found

    def _step(self, one: float, other: float) -> float:
        return self.points[one].step(self.points[other])


def _middle(low: float, high: float) -> float:
    """Return a round number between two, about their geometric mean.

    >>> _middle(1, 50), _middle(5, 5.1)
    (7.1, 5.05)
    """
    mean = math.sqrt(low * high)
    return next((found for digits in (2, 3, 4) if low < (found := _rounded(mean, digits)) < high), mean)


def _rounded(value: float, digits: int = 2) -> float:
    return float(f"{value:.{digits}g}")
