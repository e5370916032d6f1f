"""The view of ECIR 2024: obfuscation, pooled recall and nDCG@10 as a triangle, and epsilons of equal privacy.

Obfuscation is 1 - the mean sentence similarity of original and variants. The three axes stand at 120 degrees, so that
the triangle through a, b and c on them has the area (sqrt(3) / 4) (ab + bc + ca).

A heuristic has no epsilon, but it has a sentence similarity, or a range of them over its settings. At the epsilons
where a mechanism has the same similarity, the two hide equally well in this sense, and their utilities are comparable.

Reference: Faggioli, Ferro. Query obfuscation for information retrieval through differential privacy. ECIR 2024.
"""

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from quipukit.report.views import View
from quipukit.specs import format_value

EPSILONS = (10.0, 12.5, 15.0)
RECALL = "SetR"
GAIN = "nDCG@10"
_PANELS = 3
_FRAMES: "weakref.WeakKeyDictionary[View, dict[tuple[float, ...], pd.DataFrame]]" = (
    weakref.WeakKeyDictionary()
)  # tables and figures share them


def area(a: float, b: float, c: float) -> float:
    """Return the area of the triangle with a, b and c on three axes at 120 degrees.

    >>> round(area(1, 1, 1), 4)
    1.299
    """
    return math.sqrt(3) / 4 * (a * b + b * c + c * a)


def radar_frame(view: View, epsilons: Sequence[float] = EPSILONS) -> pd.DataFrame:
    """Return the three axes and the area of the chosen settings, one row per setting; none where an axis is missing.

    The chosen settings are the given epsilons where a mechanism has them, else its smallest, middle and largest value;
    of a heuristic with up to three settings, all of them.
    """
    frames = _FRAMES.setdefault(view, {})
    if tuple(epsilons) not in frames:
        frames[tuple(epsilons)] = _frame(view, epsilons)
    return frames[tuple(epsilons)]


def _frame(view: View, epsilons: Sequence[float]) -> pd.DataFrame:
    gain, recall = view.utility_means(GAIN), view.utility_means(RECALL)
    rows = []
    for mechanism in view.mechanisms:
        settings = view.settings[view.settings["mechanism"] == mechanism]
        for row in chosen_settings(settings, epsilons).itertuples(index=False):
            key = (str(row.mechanism), str(row.parameter), float(row.value))
            obfuscation = 1 - float(row.sentence_similarity)
            if key in gain and key in recall and not math.isnan(obfuscation):
                axes = (obfuscation, recall[key], gain[key])
                rows.append((row.strategy, *key, *axes, area(*axes)))
    columns = ["strategy", "mechanism", "parameter", "value", "obfuscation", "recall", "gain", "area"]
    return pd.DataFrame(rows, columns=columns)


def chosen_settings(settings: pd.DataFrame, epsilons: Sequence[float] = EPSILONS) -> pd.DataFrame:
    """Return the settings of one mechanism that are shown where few fit; see `radar_frame`."""
    chosen = settings[settings["value"].isin(epsilons) & (settings["parameter"] == "epsilon")]
    if len(chosen) or len(settings) <= _PANELS:
        return chosen if len(chosen) else settings
    return settings.iloc[[0, len(settings) // 2, len(settings) - 1]]


# --- equal privacy ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Crossing:
    """Where a curve over a grid lies within [low, high]: from ``first`` to ``last``, both None where it never does.

    ``from_below`` and ``to_above``: it may begin before the grid or end after it; ``gaps``: it leaves the band and
    returns. ``side`` is where a curve that never meets the band would meet it: before or after the grid.
    """

    grid: tuple[float, float]
    first: float | None
    last: float | None
    from_below: bool = False
    to_above: bool = False
    gaps: bool = False
    side: str = ""

    def __str__(self) -> str:
        low, high = (format_value(end) for end in self.grid)
        if self.first is None or self.last is None:
            return {"before": f"below {low}", "after": f"above {high}"}.get(self.side, "never")
        start = f"{low} or below" if self.from_below else _about(self.first)
        end = f"{high} or above" if self.to_above else _about(self.last)
        text = start if start == end else f"{start} to {end}"
        return f"{text}, with gaps" if self.gaps else text


def crossing(values: Sequence[float], heights: Sequence[float], low: float, high: float) -> Crossing:
    """Return where the polyline through the points (values increase) lies within [low, high].

    The polyline need not be monotone: ``first`` is where it first enters the band, ``last`` where it last leaves it. A
    curve that stays below the band and still rises at its end would meet it after the grid; one that stays above it and
    falls toward its start, before the grid.

    >>> str(crossing([1, 11, 21], [0.0, 0.5, 1.0], 0.25, 0.75))
    '6 to 16'
    """
    grid = (values[0], values[-1])
    pieces = []
    if len(values) == 1 and low <= heights[0] <= high:
        pieces = [(values[0], values[0])]
    for number in range(len(values) - 1):
        piece = _within(values[number : number + 2], heights[number : number + 2], low, high)
        if piece is None:
            continue
        if pieces and piece[0] <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], piece[1])
        else:
            pieces.append(piece)
    if not pieces:
        under = heights[0] < low
        side = ""
        if under and heights[-1] >= max(heights) and len(heights) > 1:
            side = "after"
        if not under and heights[0] <= min(heights) and len(heights) > 1:
            side = "before"
        return Crossing(grid, None, None, side=side)
    first, last = pieces[0][0], pieces[-1][1]
    return Crossing(grid, first, last, first == grid[0], last == grid[1], len(pieces) > 1)


def _within(values: Sequence[float], heights: Sequence[float], low: float, high: float) -> tuple[float, float] | None:
    (start, end), (here, there) = values, heights
    if here == there:
        return (start, end) if low <= here <= high else None
    # Where the segment meets the two edges of the band, as shares of its length.
    shares = sorted(((low - here) / (there - here), (high - here) / (there - here)))
    first, last = max(shares[0], 0.0), min(shares[1], 1.0)
    if first > last:
        return None
    return (_between(start, end, first), _between(start, end, last))


def _between(start: float, end: float, share: float) -> float:
    # The exact ends, without rounding: they are compared with the grid.
    return start if share == 0 else end if share == 1 else start + share * (end - start)


def equal_privacy(view: View) -> pd.DataFrame:
    """Return, for every mechanism with epsilon and every one without, the epsilons of equal sentence similarity.

    Columns: strategy, mechanism, heuristic, similarity_low, similarity_high (the heuristic's, over its settings),
    first, last (NaN outside the grid), words.
    """
    settings = view.settings[view.settings["mechanism"].isin(view.mechanisms)]
    settings = settings[settings["sentence_similarity"].notna()]
    by_name = dict(list(settings.groupby("mechanism", sort=False)))
    rows = []
    for name, curve in by_name.items():
        if curve["parameter"].iloc[0] != "epsilon":
            continue
        for heuristic, own in by_name.items():
            if own["parameter"].iloc[0] == "epsilon":
                continue
            low, high = float(own["sentence_similarity"].min()), float(own["sentence_similarity"].max())
            rising = curve.sort_values("value")  # where larger values hide more, the curve begins with them
            met = crossing(list(rising["value"]), list(rising["sentence_similarity"]), low, high)
            ends = [math.nan if end is None else end for end in (met.first, met.last)]
            rows.append((curve["strategy"].iloc[0], name, heuristic, low, high, *ends, str(met)))
    columns = ["strategy", "mechanism", "heuristic", "similarity_low", "similarity_high", "first", "last", "words"]
    return pd.DataFrame(rows, columns=columns)


def _about(value: float) -> str:
    return format_value(round(value, 1))
