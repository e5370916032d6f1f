"""Label placement: beside their points, and never on top of each other.

Labels are placed one after another, each at the first free place around its point, nearest first. Settings whose
markers nearly coincide share a label: `20-50` for five of them.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quipukit.specs import format_value

_ANGLES = (90, 45, 135, 0, 180, -45, -135, -90, 67, 113, 22, 158, -22, -158, -67, -113)


@dataclass(frozen=True)
class Box:
    """A rectangle by its lower left and upper right corner."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )

    def within(self, other: "Box") -> bool:
        """Whether it lies inside the other."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )


@dataclass(frozen=True)
class Group:
    """Settings at the same place: where that is, their label, and the number of the first."""

    x: float
    y: float
    text: str
    first: int


def group(places: Sequence[tuple[float, float]], values: Sequence[float], near: float) -> list[Group]:
    """Group neighboring settings that lie within ``near`` of the first of them; each group gets one label."""
    groups: list[list[int]] = []
    for number, (x, y) in enumerate(places):
        if groups:
            first_x, first_y = places[groups[-1][0]]
            if math.hypot(x - first_x, y - first_y) <= near:
                groups[-1].append(number)
                continue
        groups.append([number])
    return [
        Group(
            sum(places[number][0] for number in members) / len(members),
            sum(places[number][1] for number in members) / len(members),
            _text([values[number] for number in members]),
            members[0],
        )
        for members in groups
    ]


def around(places: Iterable[tuple[float, float]], half: float) -> list[Box]:
    """Return a square around every point: the area of its marker."""
    return [Box(x - half, y - half, x + half, y + half) for x, y in places]


def along(places: Sequence[tuple[float, float]], step: float, half: float) -> list[Box]:
    """Return small squares along the line through the points, for labels to avoid."""
    spots = []
    for (x, y), (next_x, next_y) in itertools.pairwise(places):
        count = max(1, int(math.hypot(next_x - x, next_y - y) / step))
        spots += [(x + (next_x - x) * n / count, y + (next_y - y) * n / count) for n in range(count + 1)]
    return around(spots, half)


def place(
    x: float, y: float, width: float, height: float, taken: Iterable[Box], bounds: Box, radii: Sequence[float]
) -> Box | None:
    """Return the nearest free box of this size around the point, None where there is none."""
    busy = list(taken)
    for radius in radii:
        for angle in _ANGLES:
            center_x = x + math.cos(math.radians(angle)) * (radius + width / 2)
            center_y = y + math.sin(math.radians(angle)) * (radius + height / 2)
            box = Box(center_x - width / 2, center_y - height / 2, center_x + width / 2, center_y + height / 2)
            if box.within(bounds) and not any(box.meets(other) for other in busy):
                return box
    return None


def needs_line(box: Box, own: tuple[float, float], others: Iterable[tuple[float, float]], far: float) -> bool:
    """Return whether a label needs a line to its point: it stands far from it, or no farther from another one.

    >>> label = Box(2, 0, 6, 1)
    >>> needs_line(label, (1, 0), [(9, 0)], far=3), needs_line(label, (0, 0), [(7, 0)], far=3)
    (False, True)
    """
    distance = _distance(box, *own)
    return distance > far or any(_distance(box, *other) <= 1.2 * distance for other in others if other != own)


def nearest(box: Box, x: float, y: float) -> tuple[float, float]:
    """Return the point of a box that is nearest to a place."""
    return min(max(x, box.left), box.right), min(max(y, box.bottom), box.top)


def _distance(box: Box, x: float, y: float) -> float:
    return math.dist((x, y), nearest(box, x, y))


def _text(values: Sequence[float]) -> str:
    rising = sorted(values)  # a curve may begin with the largest
    if len(rising) < 3:
        return ", ".join(format_value(value) for value in rising)
    return f"{format_value(rising[0])}\N{EN DASH}{format_value(rising[-1])}"
