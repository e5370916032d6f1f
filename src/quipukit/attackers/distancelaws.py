"""The laws of SanText, SanText+ and TEM: any word may come out, with a weight that falls with its distance.

ln P(y | x) = -(epsilon/2) min(d(x, y), gamma) - ln Z_x. The distances to the words that were sent are one product per
set of texts. Z_x runs over the whole vocabulary for every word of the log: one pass, for all settings at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.logsites import Floats, LogSites, Observed, Rows
from quipukit.attackers.tables import Table, WordLaw
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.santext import SanText, SanTextPlus
from quipukit.mechanisms.tem import TEM
from quipukit.threads import in_threads

Singles = NDArray[np.float32]

_BLOCK = 256  # places whose distances to the vocabulary are in memory at a time, per thread
_TILE = 2048  # words of the vocabulary in one product
_WORDS = 1024  # that were sent, whose distances to places are in memory at a time
_FEW, _ROUNDING = 16, 1e-6  # one in so many words within gamma are few; and what rounding may add to a square
_NOTHING = 40.0  # weights of exp(-40) beside one of 1 change no digit that counts of their sum
_NEAR = 0.1  # squared distances below this share of the squared length


@dataclass(frozen=True)
class Weights:
    """Weights exp(-slope * min(d, gamma)) over the rows from ``first`` on."""

    slope: float
    gamma: float
    first: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> "Weights | None":
        """Return the weights of a mechanism whose law is that of a class known here, and not a changed one."""
        if type(mechanism) is SanText:
            return cls(mechanism.epsilon / 2, np.inf, 0)
        if type(mechanism) is SanTextPlus:
            return cls(mechanism.epsilon / 2, np.inf, mechanism.first_sensitive)
        if type(mechanism) is TEM:
            return cls(mechanism.epsilon / 2, mechanism.truncation, 0)
        return None


class Normalizers:
    """ln Z of every column of a log, for as many weights as are asked for; each is computed once."""

    def __init__(self, sites: LogSites) -> None:
        """Begin with none."""
        self._sites = sites
        self._known: dict[Weights, Floats] = {}

    def of(self, weights: Weights) -> Floats:
        """Return ln Z of every column."""
        self.compute([weights])
        return self._known[weights]

    def compute(self, wanted: Sequence[Weights]) -> None:
        """Compute ln Z for those that are not known, in one pass over all pairs of words."""
        missing = [one for one in dict.fromkeys(wanted) if one not in self._known]
        if not missing:
            return
        sites = self._sites
        columns = np.flatnonzero(sites.kinds == 0)
        found = np.zeros((len(missing), len(sites.kinds)))

        def part(start: int) -> None:
            mine = columns[start : start + _BLOCK]
            found[:, mine] = self._log_sums(sites.places(mine), missing)

        in_threads(part, range(0, len(columns), _BLOCK))
        self._known.update(zip(missing, found, strict=True))

    def _log_sums(self, points: Floats, wanted: Sequence[Weights]) -> Floats:
        """Return the logarithms of the sums of weights at some points."""
        matrix, half_norms = np.asarray(self._sites.vectors.matrix), self._sites.vectors.half_norms
        half, singles = np.einsum("ij,ij->i", points, points) / 2, points.astype(np.float32)
        sums = np.full((len(wanted), len(points)), -np.inf)
        room = np.empty(len(points) * _TILE, np.float32)  # once: to be given fresh memory takes as long as to fill it
        # Tiles of one shape, whatever else is in the batch: the last bits of a product depend on its shape.
        for left in range(0, len(matrix), _TILE):
            tile = matrix[left : left + _TILE]
            squares = room[: len(points) * len(tile)].reshape(len(points), len(tile))
            fill_squares(squares, singles, tile, half, half_norms[left : left + _TILE], points)
            distances: Singles | None = None
            for number, one in enumerate(wanted):
                few = _below(squares, one.gamma) if np.isfinite(one.gamma) and not one.first else None
                if few is not None:
                    sums[number] = np.logaddexp(sums[number], _log_sum_of_few(squares, few, one))
                    continue
                distances = np.sqrt(squares) if distances is None else distances
                drawn = distances[:, max(0, one.first - left) :]
                if not drawn.shape[1]:
                    continue
                capped = np.minimum(drawn, np.float32(one.gamma))
                least = capped.min(axis=1)
                if (-one.slope * least < sums[number] - _NOTHING).all():
                    continue
                capped -= least[:, None]
                capped *= np.float32(-one.slope)
                total = np.exp(capped, out=capped).sum(axis=1, dtype=np.float64)
                sums[number] = np.logaddexp(sums[number], np.log(total) - one.slope * least)
        return sums


def fill_squares(
    squares: Singles, singles: Singles, tile: Singles, half: Floats, halves: Floats, points: Floats
) -> None:
    """Compute squared distances by a float32 product; of near words, where it leaves too few digits, by differences."""
    np.matmul(-2 * singles, tile.T, out=squares)
    squares += (2 * half).astype(np.float32)[:, None]
    squares += (2 * halves).astype(np.float32)
    near = np.divmod(np.flatnonzero(squares < _NEAR * (half.astype(np.float32)[:, None])), len(tile))
    squares[near] = ((points[near[0]] - tile[near[1]]) ** 2).sum(axis=1)
    np.maximum(squares, 0, out=squares)


def _below(squares: Singles, gamma: float) -> Rows | None:
    """Return which distances may be below gamma, as places in one row after the other; None where they are many."""
    below = squares < np.float32(gamma) ** 2 * (1 + _ROUNDING)
    return np.flatnonzero(below) if np.count_nonzero(below) * _FEW < below.size else None


def _log_sum_of_few(squares: Singles, few: Rows, one: Weights) -> Floats:
    """Return what the sum of all weights gives in float32: those from gamma on are equal, and need no exponential."""
    gamma, slope = np.float32(one.gamma), np.float32(-one.slope)
    rows = few // squares.shape[1]
    near = np.minimum(np.sqrt(squares.ravel()[few]), gamma)
    least = np.full(len(squares), gamma)
    np.minimum.at(least, rows, near)
    weights = np.bincount(rows, np.exp((near - least[rows]) * slope), len(squares))
    others = squares.shape[1] - np.bincount(rows, minlength=len(squares))
    total = weights + others * np.exp((gamma - least) * slope).astype(np.float64)
    return np.asarray(np.log(total) - one.slope * least, np.float64)


class DistanceLaw(WordLaw):
    """The law of SanText, SanText+ and TEM."""

    together = "length"

    def __init__(self, sites: LogSites, mechanism: SanText | TEM, normalizers: Normalizers) -> None:
        """Take what the law needs from a mechanism."""
        super().__init__(sites)
        weights = Weights.of(mechanism)
        if weights is None:
            raise TypeError(f"{mechanism.name} has a law of its own")
        self._weights, self._log_z = weights, normalizers.of(weights)
        self._first = weights.first
        self._p = mechanism.p if isinstance(mechanism, SanTextPlus) else 1.0

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the sums of ln P; for SanText+ also the outputs that the law rules out."""
        drawn, points = rows[rows >= self._first], self.sites.shared_places(columns)
        key = ("distances", drawn.tobytes(), columns.tobytes())
        distances = self.sites.shared(key, lambda: distances_of(self.sites, drawn, columns, points))
        return self._of_log_weights(self._log_weights(distances), rows, counts, columns)

    def tables(self, several: "Sequence[tuple[Observed, Rows]]") -> list[Table]:
        """Return the tables of many sets of texts under the same columns, from one product for all of their words."""
        columns = several[0][1]
        here = columns[self.sites.kinds[columns] == 0]
        seen = [one for one, _ in several]
        tables: list[Table] = []
        for some in _with_few_words(seen):
            words = np.unique(np.concatenate([one.rows for one in some]))
            words = words[(words >= self._first) & (words < len(self.sites.vectors))]
            weights = np.empty((len(words), len(here)))

            def part(start: int, words: Rows = words, weights: Floats = weights) -> None:
                span = slice(start, start + _TILE)
                distances = distances_of(self.sites, words, here[span], self.sites.places(here[span]))
                weights[:, span] = self._log_weights(distances)

            in_threads(part, range(0, len(here), _TILE))
            tables += in_threads(partial(self._from_weights, columns, words, weights), some)
        return tables

    def _from_weights(self, columns: Rows, words: Rows, weights: Floats, seen: Observed) -> Table:
        def of_places(rows: Rows, counts: Floats, here: Rows) -> tuple[Floats, Floats]:
            return self._of_log_weights(weights[np.searchsorted(words, rows[rows >= self._first])], rows, counts, here)

        return self._filled(seen, columns, of_places)

    def _log_weights(self, distances: Floats) -> Floats:
        weights: Floats = np.minimum(
            distances, self._weights.gamma, out=distances if distances.flags.writeable else None
        )
        weights *= -self._weights.slope
        return weights

    def _of_log_weights(self, log_weights: Floats, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        own = self.sites.rows[columns]
        # Rows that the law draws from; of the words before them (of SanText+) each comes from itself alone.
        drawn = rows >= self._first
        number = counts[:, drawn].sum(axis=1, keepdims=True)
        likelihood = counts[:, drawn] @ log_weights - number * self._log_z[columns]
        violations = np.zeros_like(likelihood)
        if self._first:
            gentle = (own >= 0) & (own < self._first)
            with np.errstate(divide="ignore"):
                kept, replaced = np.log([1 - self._p, self._p])
            self._add(likelihood, violations, np.broadcast_to(number, likelihood.shape), replaced, gentle)
            again = np.zeros_like(likelihood)
            places = np.searchsorted(rows, own)
            sent = gentle & (places < len(rows))
            sent[sent] = rows[places[sent]] == own[sent]
            again[:, sent] = counts[:, places[sent]]
            self._add(likelihood, violations, again, kept, gentle)
            violations += counts[:, ~drawn].sum(axis=1, keepdims=True) - again
        return likelihood, violations

    @staticmethod
    def _add(likelihood: Floats, violations: Floats, times: Floats, log_p: float, where: "np.ndarray") -> None:
        """Count something that happens with probability p so many times."""
        target = likelihood if np.isfinite(log_p) else violations
        target[:, where] += times[:, where] * (log_p if np.isfinite(log_p) else 1.0)


def distances_of(sites: LogSites, rows: Rows, columns: Rows, points: Floats) -> Floats:
    """Return the distances of outputs (rows) to places (columns, which are at ``points``), in float64."""
    words = sites.vectors.matrix[rows].astype(np.float64)
    distances = words @ points.T  # and in place from here on: it is large
    distances *= -2
    distances += np.einsum("ij,ij->i", words, words)[:, None]
    distances += np.einsum("ij,ij->i", points, points)
    np.sqrt(np.maximum(distances, 0.0, out=distances), out=distances)
    own = sites.rows[columns]
    places = np.searchsorted(rows, own)
    same = (own >= 0) & (places < len(rows))
    same[same] = rows[places[same]] == own[same]
    distances[places[same], np.flatnonzero(same)] = 0.0  # which the product gives but nearly
    return np.asarray(distances, np.float64)


def _with_few_words(seen: Sequence[Observed]) -> Iterator[list[Observed]]:
    """Divide sets of texts so that the words of each part are few enough for their distances to all places."""
    some: list[Observed] = []
    words = 0
    for one in seen:
        if some and words + len(one.rows) > _WORDS:
            yield some
            some, words = [], 0
        some.append(one)
        words += len(one.rows)
    if some:
        yield some
