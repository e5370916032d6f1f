"""Curves in the plane of risk and utility: the areas that their scores are made of, and when a score means nothing."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import InputError

Order = Literal["parameter", "risk", "diagonal"]
Anchor = Literal["corners", "original"]
ORDERS: tuple[Order, ...] = ("parameter", "risk", "diagonal")
ANCHORS: tuple[Anchor, ...] = ("corners", "original")
NARROW = 0.1  # of the diagonal: a curve that spans less of it is not ranked
# Why a curve is not ranked, starred or called better by anything.
SINGLE, SHORT, BACKWARDS = "single point", "narrow", "runs backwards"
# Means of thousands of numbers may leave [0, 1] by their last digits.
SLACK = 1e-9
Floats = NDArray[np.float64]


def area(r: ArrayLike, u: ArrayLike) -> Floats:
    """Return twice the signed area between polylines and the diagonal; points along the last axis, in order."""
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    # h and s without their square roots: the two factors 1 / sqrt(2) and the 2 of the score make 1.
    h, s = utility - risk, utility + risk
    return np.asarray(((h[..., 1:] + h[..., :-1]) / 2 * np.diff(s, axis=-1)).sum(axis=-1))


def ordered(r: Floats, u: Floats, order: Order) -> tuple[Floats, Floats]:
    """Return the points of many curves (along the last axis) in the order in which they are joined."""
    if order == "parameter":
        return r, u
    # The second key makes the order of ties a property of the points, not of the rows they stood in.
    by = np.lexsort((u, r) if order == "risk" else (u - r, u + r), axis=-1)
    return np.take_along_axis(r, by, -1), np.take_along_axis(u, by, -1)


def diagonal_share(low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the share of the diagonal between two values of s, which runs from 0 to sqrt(2) along it."""
    return (np.asarray(high, np.float64) - np.asarray(low, np.float64)) / math.sqrt(2)


def why_unranked(r: ArrayLike, u: ArrayLike) -> str:
    """Return why a curve through these points is never ranked, starred or called better; empty where it may be.

    >>> why_unranked([0.1], [0.5]), why_unranked([0.1, 0.15], [0.5, 0.55]), why_unranked([0.9, 0.1], [0.8, 0.3])
    ('single point', 'narrow', 'runs backwards')
    """
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    along = (risk + utility) / math.sqrt(2)
    if len(set(zip(risk.tolist(), utility.tolist(), strict=True))) == 1:
        return SINGLE
    if diagonal_share(along.min(), along.max()) < NARROW - SLACK:
        return SHORT
    return BACKWARDS if along[-1] < along[0] - SLACK else ""


def hypervolume(r: ArrayLike, u: ArrayLike, ceiling: ArrayLike = 1.0) -> Floats:
    """Return the hypervolume of many curves, points along the last axis in any order: see `quipu_score`.

    ``ceiling`` is the utility of the original queries, one number or one per curve; where it is 0, nothing can be found
    and the volume is 0.
    """
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    top = np.broadcast_to(np.asarray(ceiling, np.float64), risk.shape[:-1])
    by = np.argsort(risk, axis=-1, kind="stable")
    risk, utility = np.take_along_axis(risk, by, -1), np.take_along_axis(utility, by, -1)
    best = np.maximum.accumulate(np.minimum(utility, top[..., None]), axis=-1)
    widths = np.diff(risk, axis=-1, append=np.ones((*risk.shape[:-1], 1)))
    volume = (best * widths).sum(axis=-1)
    return np.divide(volume, top, out=np.zeros_like(volume), where=top > 0)


def anchored(r: Floats, u: Floats, anchor: Anchor | None, u0: float | None) -> tuple[Floats, Floats]:
    """Return the points of a curve with end points added: see `quipukit.measures.quipu.quipu_score`."""
    if anchor is None:
        return r, u
    if anchor not in ANCHORS:
        raise InputError(f"anchor must be None, 'corners' or 'original' (found {anchor!r}).")
    if anchor == "original" and u0 is None:
        raise InputError(
            "anchor='original' ends at the original queries and needs their utility; pass u0=UTILITY, or add the "
            "mechanism Identity to the points.",
            argument=("anchor", "u0"),
        )
    end = 1.0 if anchor == "corners" else float(u0 or 0.0)
    return np.concatenate([[0.0], r, [1.0]]), np.concatenate([[0.0], u, [end]])


def signed_areas(r: Floats, u: Floats) -> tuple[float, float]:
    """Return R+ and R-: each segment is cut where it crosses the diagonal."""
    h, s = (u - r) / math.sqrt(2), (u + r) / math.sqrt(2)
    start, end, step = h[:-1], h[1:], np.diff(s)
    crosses = start * end < 0
    share = np.divide(start, start - end, out=np.ones_like(start), where=crosses)
    # Uncut segments are trapezoids: with share 1 the first piece is the whole of it.
    first = np.where(crosses, start / 2 * share, (start + end) / 2) * step
    second = np.where(crosses, end / 2 * (1 - share), 0.0) * step
    side = np.where(crosses, start, start + end)
    positive = first[side > 0].sum() + second[end > 0].sum()
    negative = first[side < 0].sum() + second[end < 0].sum()
    return float(positive), float(negative)
