"""The share of the original's utility that a setting keeps."""

import math

import numpy as np

from quipukit.measures.bootstrap import Floats, Grid

ORIGINAL = "Identity"


def original_utility(grid: Grid) -> Floats | None:
    """Return what the original queries find, per query; None where it was not measured, or is nothing at all."""
    original = utility_of(ORIGINAL, grid)
    # Nothing is a share of nothing.
    return original if original is not None and original.any() else None


def utility_of(reference: str, grid: Grid) -> Floats | None:
    """Return the utility of a reference per query, None where it was not measured."""
    for number, (mechanism, *_) in enumerate(grid.settings):
        if mechanism == reference:
            return grid.utility[:, number]
    return None


def kept_shares(original: Floats | None, weights: Floats, u: Floats, utilities: Floats) -> tuple[Floats, Floats]:
    """Return the share of the original's utility that every setting keeps: on all queries and on every replicate."""
    if original is None:
        return np.full_like(u, math.nan), np.full_like(utilities, math.nan)
    drawn = (weights @ original)[:, None]
    # A replicate without any found document says nothing about shares.
    return u / original.mean(), np.divide(utilities, drawn, out=np.full_like(utilities, math.nan), where=drawn > 0)
