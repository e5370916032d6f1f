"""The share that a setting keeps of what the original query finds among as many documents."""

from typing import TYPE_CHECKING

import numpy as np

from quipukit.frames import SETTING
from quipukit.measures.intervals import Floats
from quipukit.measures.sides import Grid
from quipukit.settings import ORIGINAL

if TYPE_CHECKING:
    from quipukit.results import Result


def reference_utilities(name: str, grid: Grid) -> Floats | None:
    """Return the utility of a reference for every judged query, None where it was not measured."""
    for number, (mechanism, *_) in enumerate(grid.settings):
        if mechanism == name:
            return grid.utility.measured[:, number]
    return None


def original_utility(grid: Grid) -> float | None:
    """Return the mean utility of the original queries with one list of documents; None where not measured, or 0."""
    scores = reference_utilities(ORIGINAL, grid)
    return float(scores.mean()) if scores is not None and scores.any() else None


def kept_shares(result: "Result", grid: Grid, system: str | None) -> Floats:
    """Return the share of the original's utility that every setting of a grid keeps, NaN where that is not known.

    Its reference is not `Identity`, which pools one list of documents where a setting pools many, but what the original
    finds among as many documents (`Result.ceilings`).
    """
    scores = result.ceilings(system)
    means = scores[scores["measure"] == grid.measure].groupby(list(SETTING))["score"].mean().to_dict()
    references = np.array([means.get(setting, np.nan) for setting in grid.settings], np.float64)
    # Nothing is a share of nothing.
    return grid.utility.means / np.where(references > 0, references, np.nan)
