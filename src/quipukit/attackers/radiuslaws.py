"""The law of RANTEXT: a mixture over random radii R of exponential laws, each over the words that lie within R.

P(y | x) = sum over R > d(x,y) of P(R) exp(-(epsilon/2) d(x,y)/R) / Z_R(x), where Z_R(x) adds the same weights up over
all words within R of x. Distances are sorted into narrow bins, between which all radii lie: which words are within a
radius is exact, and a weight is off by a factor of at most exp(`Bins.rounding`). Then Z_R(x), for all radii at once, is
a product of how many words lie in each bin with a table of weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quipukit.attackers.distancelaws import distances_of, fill_squares
from quipukit.attackers.logsites import Floats, LogSites, Rows
from quipukit.attackers.tables import WordLaw
from quipukit.jit import numba
from quipukit.mechanisms.rantext import RANTEXT
from quipukit.threads import in_threads

_CELLS = 8192  # bins of equal width, before the radii divide them
_BLOCK, _TILE = 256, 2048  # columns and words whose distances are in memory at a time, per thread
_MOST = 0.02  # logarithms of weights are off by this at most, or the law is not known


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of distances below the largest radius, the weight of each under every radius, and the radii's chances."""

    edges: Floats
    starts: Rows  # the first bin of each cell of equal width
    width: float
    weights: Floats  # bins x radii; 0 where the bin lies beyond the radius
    chances: Floats
    rounding: float

    @classmethod
    def of(cls, mechanism: RANTEXT) -> "Bins":
        """Divide the distances that a mechanism tells apart."""
        radii, chances = mechanism.radii
        width = float(radii[-1]) / _CELLS
        even = np.arange(_CELLS + 1) * width
        edges = np.unique(np.concatenate([even[:-1], radii]))
        centers = (edges[1:] + edges[:-1]) / 2
        slopes = mechanism.epsilon / 2 / np.maximum(radii, 1e-300)
        weights = np.where(edges[1:, None] <= radii, np.exp(-slopes * centers[:, None]), 0.0)
        rounding = float(slopes[0] * np.diff(edges).max() / 2)
        starts = np.searchsorted(edges, even, side="right") - 1
        return cls(edges, starts, width, weights, chances, rounding)


class RadiusSums:
    """P(R) / Z_R of every column of a log, for as many settings as are asked for; each is computed once."""

    def __init__(self, sites: LogSites) -> None:
        """Begin with none."""
        self._sites = sites
        self._known: dict[float, tuple[Bins, Floats]] = {}  # by epsilon, which is all that settings differ in

    def of(self, mechanism: RANTEXT) -> tuple[Bins, Floats]:
        """Return the bins of a mechanism, and P(R) / Z_R for columns x radii: 0 where no word lies within R."""
        self.compute([mechanism])
        return self._known[mechanism.epsilon]

    def compute(self, wanted: Sequence[RANTEXT]) -> None:
        """Compute what is not known in one pass over all pairs of words."""
        missing = {one.epsilon: Bins.of(one) for one in wanted if one.epsilon not in self._known}
        columns = np.flatnonzero(self._sites.kinds == 0)
        shares = {epsilon: np.zeros((len(self._sites.kinds), len(one.chances))) for epsilon, one in missing.items()}

        def part(start: int) -> None:
            mine = columns[start : start + _BLOCK]
            for (epsilon, bins), counts in zip(
                missing.items(), self._counts(mine, list(missing.values())), strict=True
            ):
                sums = counts @ bins.weights
                shares[epsilon][mine] = np.divide(bins.chances, sums, out=np.zeros_like(sums), where=sums > 0)

        if missing:
            in_threads(part, range(0, len(columns), _BLOCK))
        self._known.update({epsilon: (bins, shares[epsilon]) for epsilon, bins in missing.items()})

    def _counts(self, columns: Rows, several: Sequence[Bins]) -> list[Floats]:
        """Return how many words lie in each bin around each column."""
        vectors, points = self._sites.vectors, self._sites.places(columns)
        matrix, half = np.asarray(vectors.matrix), np.einsum("ij,ij->i", points, points) / 2
        singles = points.astype(np.float32)
        counts = [np.zeros((len(columns), len(one.edges) - 1)) for one in several]
        for left in range(0, len(matrix), _TILE):
            tile = matrix[left : left + _TILE]
            squares = np.empty((len(columns), len(tile)), np.float32)
            fill_squares(squares, singles, tile, half, vectors.half_norms[left : left + _TILE], points)
            distances = np.sqrt(squares, dtype=np.float64)
            for one, count in zip(several, counts, strict=True):
                _count(distances, one.edges, one.starts, one.width, count)
        return counts


class RadiusLaw(WordLaw):
    """ln P(y | x) of RANTEXT, for the words of a log."""

    def __init__(self, sites: LogSites, mechanism: RANTEXT, sums: RadiusSums) -> None:
        """Take what the radii are worth at every column; where none of them reaches a word, the nearest comes out."""
        super().__init__(sites)
        self._bins, self._shares = sums.of(mechanism)
        self._nearest = np.full(len(sites.kinds), -1, np.int64)
        self._alone = np.where(self._shares > 0, 0.0, self._bins.chances).sum(axis=1)
        lonely = np.flatnonzero((sites.kinds == 0) & (self._alone > 0))
        for column, point in zip(lonely, sites.places(lonely), strict=True):
            self._nearest[column] = mechanism.nearest_row(point)

    @staticmethod
    def fits(mechanism: RANTEXT) -> bool:
        """Return whether bins are narrow enough beside the smallest radius; where they are not, no law is known."""
        return Bins.of(mechanism).rounding <= _MOST

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the sums of ln P over what can come out, and how much of what was sent lies beyond every radius."""
        distances = distances_of(self.sites, rows, columns, self.sites.shared_places(columns))
        bins = self._bins
        chances = np.zeros(distances.shape)
        _mix(distances, bins.edges, bins.starts, bins.width, bins.weights, self._shares, columns, chances)
        chances += np.where(rows[:, None] == self._nearest[columns], self._alone[columns], 0.0)
        possible = chances > 0
        return counts @ np.log(chances, out=np.zeros_like(chances), where=possible), counts @ ~possible


@numba.njit(nogil=True, cache=True)
def _bin(distance, edges, starts, width):  # type: ignore[no-untyped-def]
    cell = int(distance / width)
    if distance >= edges[-1]:
        return -1
    number = starts[min(cell, len(starts) - 1)]
    while number > 0 and distance < edges[number]:  # a quotient may round to the next cell
        number -= 1
    while distance >= edges[number + 1]:
        number += 1
    return number


@numba.njit(nogil=True, cache=True)
def _count(distances, edges, starts, width, counts):  # type: ignore[no-untyped-def]
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            number = _bin(distances[i, j], edges, starts, width)
            if number >= 0:
                counts[i, number] += 1


@numba.njit(nogil=True, cache=True)
def _mix(distances, edges, starts, width, weights, shares, columns, chances):  # type: ignore[no-untyped-def]
    last = weights.shape[1] - 1
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            number = _bin(distances[i, j], edges, starts, width)
            if number < 0:
                continue
            total, k = 0.0, last
            while k >= 0 and weights[number, k] > 0:  # radii rise: those that reach so far are the last ones
                total += weights[number, k] * shares[columns[j], k]
                k -= 1
            chances[i, j] = total
