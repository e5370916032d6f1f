"""The share of the original's utility that a setting keeps."""

import numpy as np

from quipukit.measures.bootstrap import Grid
from quipukit.measures.intervals import Floats

ORIGINAL = "Identity"


def reference_utilities(name: str, grid: Grid) -> Floats | None:
    """Return the utility of a reference for every judged query, None where it was not measured."""
    for number, (mechanism, *_) in enumerate(grid.settings):
        if mechanism == name:
            return grid.utility.measured[:, number]
    return None


def original_utility(grid: Grid) -> float | None:
    """Return the mean utility of the original queries; None where it was not measured, or is 0."""
    scores = reference_utilities(ORIGINAL, grid)
    # Nothing is a share of nothing.
    return float(scores.mean()) if scores is not None and scores.any() else None


def kept_shares(utility: Floats, original: float | None) -> Floats:
    """Return the share of the original's utility that every setting keeps, NaN where that is not known."""
    return np.full_like(utility, np.nan) if original is None else utility / original
