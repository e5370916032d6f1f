"""Differences of scores and of means between two results, with intervals and p-values."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from quipukit.frames import SETTING
from quipukit.measures.bootstrap import Score, holm, per_query, reach
from quipukit.measures.curves import hypervolume, why_unranked
from quipukit.measures.intervals import Floats
from quipukit.measures.resampling import Limits, Seed, judge_paired, judge_unpaired
from quipukit.measures.sides import Grid, Side
from quipukit.settings import ORIGINAL

NUMBERS = ("first", "second", "difference", "low", "high", "p")
_MEANS: Limits = (-1.0, 1.0)
_NONE: Limits = (-math.inf, math.inf)


@dataclass(frozen=True)
class DifferenceTest:
    """How differences are judged: the same for every one."""

    paired: bool
    level: float
    replicates: int
    seed: Seed

    def means(self, side: str, first: Grid, second: Grid) -> pd.DataFrame:
        """Compare the mean of one side at every setting."""
        place = {setting: number for number, setting in enumerate(second.settings)}
        own, other = getattr(first, side), getattr(second, side).columns([place[one] for one in first.settings])
        names = [dict(zip(SETTING, setting, strict=True)) for setting in first.settings]
        return self._family(names, own.measured, other.measured, _limits(_MEANS, own, other))

    def curves(self, first: Grid, second: Grid, score: Score, barred: Mapping[str, str]) -> pd.DataFrame:
        """Compare a score of every mechanism with a curve; the ``barred`` ones are not to be ranked, for a reason."""
        counts = {name: count for name, count in settings_of_each(first).items() if count > 1}
        if not counts:
            return pd.DataFrame()
        both = first, second
        own, other = (np.column_stack([_curve(grid, name, score) for name in counts]) for grid in both)
        reasons = [barred.get(name) or next(filter(None, (_why(grid, name) for grid in both)), "") for name in counts]
        names = [
            {"mechanism": name, "score": score, "settings": count, "rankable": not reason, "unranked": reason}
            for (name, count), reason in zip(counts.items(), reasons, strict=True)
        ]
        most = np.ones(len(counts))
        if score == "quipu":
            most = np.array([sum(reach(*_sides_of(grid, name)) for grid in both) for name in counts])
        limits = _limits((-most, most), *(side for grid in both for side in (grid.risk, grid.utility)))
        return self._family(names, own, other, limits)

    def _family(self, names: list[dict[str, Any]], own: Floats, other: Floats, limits: Limits) -> pd.DataFrame:
        """Return one row per difference, with p-values corrected for their number."""
        drawn: dict[str, Any] = {"limits": limits, "replicates": self.replicates, "seed": self.seed}
        if self.paired:
            judged = judge_paired(own - other, self.level, **drawn)
        else:
            judged = judge_unpaired(own, other, self.level, **drawn)
        means = own.mean(axis=0), other.mean(axis=0)
        numbers = zip(*means, means[0] - means[1], *judged, strict=True)
        rows = [{**name, **dict(zip(NUMBERS, row, strict=True))} for name, row in zip(names, numbers, strict=True)]
        return pd.DataFrame(rows).assign(p_holm=holm(judged.p))


def settings_of_each(grid: Grid) -> dict[str, int]:
    """Return how many settings every mechanism has."""
    return dict(Counter(mechanism for mechanism, *_ in grid.settings))


def _limits(usual: Limits, *sides: Side) -> Limits:
    """Return what a difference can be at all: measures of utility that count documents know no limit."""
    usually = all(((side.scores >= 0) & (side.scores <= 1)).all() for side in sides)
    return usual if usually else _NONE


def _curve(grid: Grid, mechanism: str, score: Score) -> Floats:
    sides = _sides_of(grid, mechanism)
    if score == "quipu":
        return per_query(*sides)
    original = _sides_of(grid, ORIGINAL)[1]
    return per_query(*sides, hypervolume, original if original.scores.shape[1] else None)


def _why(grid: Grid, mechanism: str) -> str:
    """Return why a curve is not to be called better or worse than another, empty where it may be."""
    risk, utility = _sides_of(grid, mechanism)
    return why_unranked(risk.means, utility.means)


def _sides_of(grid: Grid, mechanism: str) -> tuple[Side, Side]:
    columns = [number for number, (name, *_) in enumerate(grid.settings) if name == mechanism]
    return grid.risk.columns(columns), grid.utility.columns(columns)
