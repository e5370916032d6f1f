"""The look of a mechanism, the same in every figure: a color for light and for dark pages, a marker and a dash.

The colors are those of Okabe and Ito, darkened for white paper and lightened for a dark page until each has a contrast
of at least 3 : 1. Markers distinguish the mechanisms without color.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

PAPER, NIGHT = "#ffffff", "#14171c"
# From little to much of the need revealed, on paper; the page mixes its own, lighter ones in the dark.
NEED = ("#0072b2", "#8f5aa8", "#d55e00")
NEED_UNKNOWN = "#8a9099"

_COLORS = (
    ("#0072b2", "#4ea8e0"),  # blue
    ("#2a8bbd", "#8fd6ff"),  # sky
    ("#008a64", "#2fc99b"),  # green
    ("#b0568a", "#e79cc6"),  # purple
    ("#a87400", "#efb73e"),  # orange
    ("#3a3f47", "#dfe3e8"),  # ink
    ("#d55e00", "#ff8f4d"),  # vermilion
    ("#807500", "#d9cf4f"),  # olive
    ("#6b4fb3", "#b3a0f2"),  # violet
    ("#8a5a2b", "#cfa173"),  # brown
)
_MARKERS = (
    ("circle", "o"),
    ("square", "s"),
    ("diamond", "D"),
    ("triangle-up", "^"),
    ("triangle-down", "v"),
    ("cross", "P"),
    ("x", "X"),
    ("pentagon", "p"),
    ("star", "*"),
    ("hexagon", "h"),
)
_DASHES = (("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."))
# The published mechanisms look the same in every report.
_KNOWN = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "CusText", "SanText", "TEM", "WBB", "AEA", "FEA")


@dataclass(frozen=True)
class Look:
    """The look of one mechanism; ``number`` identifies its color on the page."""

    number: int
    light: str
    dark: str
    marker: str
    dash: str
    plain_marker: str
    plain_dash: str


def looks_of(mechanisms: Sequence[str]) -> dict[str, Look]:
    """Return a look for every mechanism; no two are alike among the first forty."""
    names = list(dict.fromkeys(mechanisms))
    taken = {name: _KNOWN.index(name) for name in names if name in _KNOWN}
    for name in names:
        if name not in taken:
            taken[name] = _free(set(taken.values()))
    return {name: _look(taken[name]) for name in names}


def _free(taken: set[int]) -> int:
    """Return the number of the color that is most unlike those that are taken; where all are, the next look."""
    left = [number for number in range(len(_COLORS)) if number not in taken]
    if not left:
        return next(number for number in itertools.count() if number not in taken)
    return max(left, key=lambda number: min((_apart(number, other) for other in taken), default=0))


def _apart(one: int, other: int) -> int:
    """Return how far two colors are apart, as the eye weighs red, green and blue."""
    pairs = zip(*(bytes.fromhex(_COLORS[number % len(_COLORS)][0][1:]) for number in (one, other)), strict=True)
    return sum(weight * (a - b) ** 2 for weight, (a, b) in zip((2, 4, 3), pairs, strict=True))


def _look(number: int) -> Look:
    turn, place = divmod(number, len(_COLORS))
    light, dark = _COLORS[place]
    # From the second round on, a color is combined with another marker and another dash.
    marker, plain_marker = _MARKERS[(place + 3 * turn) % len(_MARKERS)]
    dash, plain_dash = _DASHES[(place + turn) % len(_DASHES)]
    return Look(number, light, dark, marker, dash, plain_marker, plain_dash)
