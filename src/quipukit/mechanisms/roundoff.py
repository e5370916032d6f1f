"""How far floating point can carry a mechanism from the one that its guarantee is about: proved bounds.

For mechanisms that add noise, the bound is on the probability that the program sends another word than the ideal
mechanism would have sent with the same randomness. No attacker, whatever it computes, tells the two apart better than
that. docs/floating_point.md has the proof; the names below are those that it uses.
"""

import math
from dataclasses import dataclass

import numpy as np

from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.mahalanobis import Elliptical
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.rantext import RANTEXT
from quipukit.mechanisms.sampling import ExponentialSampling
from quipukit.numeric import shown_bound
from quipukit.vectors.store import Vectors

UNIT = 2.0**-53
_TAIL = 30.0  # longer noise than is bounded here has a probability of exp(-30), 9.4e-14
# Wrong rejections and inexact tables of NumPy's samplers, in units: of each of n + 1 normal numbers, and of the Gamma
# by n. That is more than what was counted: 36 for each normal number, and 10 sqrt(n) + 110.
_NORMAL, _GAMMA = 100, 32
_POINT = 48  # how far rounding moves a noisy point, beside n / 2, in units of the length of the noise
_EIGEN = 128  # assumed of LAPACK: eigenvalues and the factor made of them, in n units of the largest
_BATCH = 4096


@dataclass(frozen=True)
class Gaps:
    """Of the distinct vectors: their number, and the least and the largest distance of one to its nearest other."""

    count: int
    least: float
    largest: float


def gaps(vectors: Vectors) -> Gaps:
    """Return the gaps of a vocabulary; all pairs are compared, once: what was found is kept on disk."""

    def build() -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        from quipukit.vectors.nearest import top_k

        distinct = np.unique(np.asarray(vectors.matrix), axis=0)
        half_norms = np.square(distinct, dtype=np.float64).sum(axis=1) / 2
        nearest = np.full(len(distinct), np.inf)
        for start in range(0, len(distinct) if len(distinct) > 1 else 0, _BATCH):
            points = distinct[start : start + _BATCH].astype(np.float64)
            others = distinct[top_k(distinct, half_norms, points, 2)[:, 1]].astype(np.float64)
            nearest[start : start + _BATCH] = np.linalg.norm(points - others, axis=1)
        return np.array([len(distinct), nearest.min(), nearest.max()])

    count, least, largest = vectors.derived_on_disk("gaps", build).tolist()
    # The distances themselves are rounded, by less than a millionth of a millionth.
    return Gaps(int(count), least * (1 - 1e-12), largest * (1 + 1e-12))


def noise_error(one: Perturbation) -> float:
    """Return how likely the program sends another word than the ideal mechanism, for one word; at most 1.

    That is for words of the vocabulary and for unknown ones with ``oov`` "anchor" or "uniform", at the mechanism's own
    epsilon. Nothing is proved for unknown words that stand at other places ("subword", "gaussian").
    """
    vectors, n = one.vectors, one.vectors.dimension
    apart = gaps(vectors)
    # A uniform number of 53 bits and its product with the number of words: two units at each boundary between rows.
    uniform = 2 * len(vectors) * UNIT if one.oov == "uniform" else 0.0
    if apart.count < 2:
        return uniform  # all places are one: nothing to tell apart
    smallest, largest, elliptical = _eigenvalues(one)
    if smallest <= 0:
        return 1.0  # noise in a subspace has no density: nothing is proved
    t = float(getattr(one, "t", 0.0))
    two = t > 0  # whether the second nearest word matters too
    first_place, second_place = _mean_gaps(vectors)
    radius = (n + math.sqrt(2 * n * _TAIL) + _TAIL) / one.epsilon
    # From a place to the farthest word that may matter there, before noise.
    inside = max(apart.largest, second_place) if two else first_place
    reach = math.sqrt(largest) * radius + inside
    r = apart.least / 2

    longest = math.sqrt(2 * float(vectors.half_norms.max()))
    stretched = math.sqrt(largest) * (n / 2 + _POINT) + (n**1.5 if elliptical else 0)
    displacement = UNIT * (radius * stretched + longest)
    # Two words are at most twice as far apart as the longest vector is long.
    kappa = (displacement * longest + 0.52 * (n + 3) * UNIT * reach**2) / r**2
    rate = one.epsilon / math.sqrt(smallest)
    boundary = n + rate * (n / one.epsilon + first_place)
    if two:
        boundary = 2 * boundary + n + rate * (n / one.epsilon + inside)
    if kappa >= 0.5:
        return 1.0
    rounding = kappa * boundary * (1 + kappa) / (1 - kappa)

    on_arcs, on_rays = (38, 19) if two else (16, 8)
    discrete = 1.1 * (n * on_arcs + on_rays) * apart.count * 2 * UNIT
    rejections = (_NORMAL * (n + 1) + _GAMMA * n) * UNIT
    coin = 0.0
    if 0 < t < 1:
        # The last part is for the fractions of a grid cell, which move the point too, by 20 units in the mean.
        coin = (n + 10) * UNIT + t / (1 - t) * 2 / r * (displacement + 64 * UNIT * reach)
    # The last factor is for the rounding of this computation.
    return min(1.0, (rounding + discrete + rejections + coin + uniform + math.exp(-_TAIL)) * (1 + 1e-9))


def table_error(rows: int) -> float:
    """Return by how much a probability may be off that is drawn by a cumulative sum of so many weights in float64.

    Off from what the table of weights says; how far the table itself is rounded is another matter.
    """
    return (8 * rows + 128) * UNIT


def in_words(one: Mechanism, variants: int = 1) -> str:
    """Return what floating point does to a mechanism of this package, in a sentence; "" where nothing is known.

    ``variants`` matters where they share epsilon (``budget="total"``): each then has more noise, and a larger bound.
    """
    if not type(one).__module__.startswith("quipukit.mechanisms."):
        return ""  # a plugin may do anything: nothing is proved about it
    if isinstance(one, RANTEXT):
        return ""  # it draws a radius first, and not from one table
    if isinstance(one, Perturbation):
        error = noise_error(one.for_variants(variants))
        if error >= 1:
            return "Floating point: no bound is known for this vocabulary and parameter."
        of = " of the vocabulary" if one.oov in ("subword", "gaussian") else ""
        return (
            f"Floating point: for each word{of}, the program sends another one than the ideal mechanism with "
            f"probability {shown_bound(error) if error else 0} at most (proved, for ideal random bits; "
            "docs/floating_point.md)."
        )
    if getattr(one, "exact", False):
        if getattr(one, "oov", "") == "subword":
            return "Floating point: sampled exactly; nothing is proved of the rounding of distances to composed words."
        return "Floating point: sampled exactly; what the rounding of distances adds is part of the guarantee."
    rows = len(one.vectors) if isinstance(one, ExponentialSampling) else _pool_size(one)
    if rows:
        return (
            f"Floating point: each probability is off by {shown_bound(table_error(rows))} at most from that of the "
            "table of weights (proved, for ideal random bits; docs/floating_point.md); with exact=True by nothing."
        )
    return ""


def _pool_size(one: Mechanism) -> int:
    return len(one.cover.pool) if hasattr(one, "exact") and hasattr(one, "cover") else 0


def _eigenvalues(one: Perturbation) -> tuple[float, float, bool]:
    if isinstance(one, Elliptical) and one.lam:
        found = one._ellipsoid
        off = _EIGEN * one.vectors.dimension * UNIT * found.largest
        return found.smallest - off, found.largest + off, True
    return 1.0, 1.0, False


def _mean_gaps(vectors: Vectors) -> tuple[float, float]:
    """Return how far the mean of all vectors, where unknown words stand, is from its two nearest words."""
    from quipukit.vectors.nearest import distances

    near = np.sort(distances(vectors.matrix, vectors.mean))
    return float(near[0]), float(near[min(1, len(near) - 1)])
