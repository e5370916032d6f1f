"""Laws with a small support: what can come out of a word are a few words, as in CusText and WBB.

The candidates of every word of the log are found once: they do not depend on epsilon. A word of which some output was
not a candidate is ruled out, so that after some dozen texts few words are left.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.logsites import Floats, LogSites, Rows
from quipukit.attackers.tables import WordLaw
from quipukit.jit import numba
from quipukit.mechanisms.custext import Candidates, CusText
from quipukit.mechanisms.sampling import Place, Sampling
from quipukit.mechanisms.wbb import WBB, Box
from quipukit.threads import in_threads

_BLOCK = 256
_MOST = 50_000_000  # candidates of all words together; a law with more is not kept
_SLACK = 48  # further words whose distance is computed exactly, in case float32 had them in another order


class Neighborhoods:
    """What the law of a mechanism needs to know about every column of a log; the same for all its epsilons."""

    def __init__(self, sites: LogSites, mechanism: Sampling) -> None:
        """Find the neighborhoods."""
        self.columns = np.flatnonzero(sites.kinds == 0)
        points = sites.places(self.columns)
        self._places = [Place(point, int(row)) for point, row in zip(points, sites.rows[self.columns], strict=True)]
        self.near: list[Any] = self._found(mechanism, points)

    def _found(self, mechanism: Sampling, points: Floats) -> list[Any]:
        if type(mechanism) is CusText and _by_distance(mechanism):
            return _by_block(_nearest, mechanism, self._places, points)
        if type(mechanism) is WBB:
            return _by_block(_boxes, mechanism, self._places, points)
        return in_threads(mechanism.neighborhood, self._places)


def _by_block(
    find: Callable[[Any, Sequence[Place], Floats], list[Any]], mechanism: Any, places: Sequence[Place], points: Floats
) -> list[Any]:
    def part(start: int) -> list[Any]:
        return find(mechanism, places[start : start + _BLOCK], points[start : start + _BLOCK])

    return [near for several in in_threads(part, range(0, len(points), _BLOCK)) for near in several]


def _by_distance(mechanism: CusText) -> bool:
    return mechanism.mapping != "groups" and mechanism.similarity == "euclidean"


def _nearest(mechanism: CusText, places: Sequence[Place], points: Floats) -> list[Candidates]:
    """Return the candidates of places, as CusText finds them one by one among all words."""
    vectors = mechanism.vectors
    squares = 2 * vectors.half_norms.astype(np.float32) - 2 * (points.astype(np.float32) @ vectors.matrix.T)
    found = []
    for place, square in zip(places, squares, strict=True):
        rows = _least(square, mechanism.k + _SLACK)
        distances = _exact(mechanism, rows, place)[1]
        order = np.argsort(distances, kind="stable")[: mechanism.k]
        near = distances[order]
        spread = near[-1] - near[0]
        scores = (near[-1] - near) / spread if spread > 0 else np.ones(len(order))
        found.append(Candidates(rows[order], scores))
    return found


def _boxes(mechanism: WBB, places: Sequence[Place], points: Floats) -> list[Box]:
    """Return the boxes of places, as WBB finds them one by one among all words that it may send."""
    usable, norms = mechanism.usable_rows, np.sqrt(2 * mechanism.vectors.half_norms)
    matrix, lengths = mechanism.vectors.matrix[usable], norms[usable].astype(np.float32)
    products = points.astype(np.float32) @ matrix.T
    own = np.linalg.norm(points, axis=1).astype(np.float32)
    found = []
    for place, product, length in zip(places, products, own, strict=True):
        both = lengths * length
        angle = 1 - np.divide(product, both, out=np.zeros_like(product), where=both > 0)
        square = np.maximum(length**2 + lengths**2 - 2 * product, 0)
        rough = {"angle": angle, "euclidean": square, "product": angle * np.sqrt(square)}[mechanism.measure]
        rows = usable[_least(rough, mechanism.k + mechanism.n + _SLACK)]
        angles, distances = _exact(mechanism, rows, place)
        measure = {"angle": angles, "euclidean": distances, "product": angles * distances}[mechanism.measure]
        ranked = np.argsort(measure, kind="stable")
        ranked = ranked[rows[ranked] != place.row]
        chosen = ranked[mechanism.k - (place.row >= 0) :][: mechanism.n]
        near = measure[chosen]
        # In mode "published" the scale is that of the whole query; that of the word stands for it.
        found.append(Box(rows[chosen], near, float(near.mean()), float(near.std())))
    return found


def _least(values: "NDArray[np.float32]", count: int) -> Rows:
    """Return where the least values are, in the order of the rows: among equal ones the lower row comes first."""
    return np.sort(np.argpartition(values, count)[:count]) if count < len(values) else np.arange(len(values))


def _exact(mechanism: Sampling, rows: Rows, place: Place) -> tuple[Floats, Floats]:
    """Return 1 - cosine and the distance of some rows, in float64."""
    words = mechanism.vectors.matrix[rows].astype(np.float64)
    lengths = np.linalg.norm(words, axis=1) * np.linalg.norm(place.point)
    products = words @ place.point
    cosines = np.clip(np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0), -1, 1)
    return 1 - cosines, np.linalg.norm(words - place.point, axis=1)


class SupportLaw(WordLaw):
    """The law of a sampling mechanism with few candidates: column c gives ``rows[starts[c]:starts[c + 1]]``."""

    def __init__(self, sites: LogSites, mechanism: Sampling, around: Neighborhoods) -> None:
        """Ask the mechanism for the law of every column."""
        super().__init__(sites)
        sizes = np.zeros(len(sites.kinds), np.int64)
        rows: list[Rows] = []
        logs: list[Floats] = []
        for column, near in zip(around.columns, around.near, strict=True):
            outputs, log_weights = mechanism.law(near)
            possible = np.isfinite(log_weights)
            top = log_weights.max()
            rows.append(outputs[possible])
            logs.append(log_weights[possible] - top - np.log(np.exp(log_weights - top).sum()))
            sizes[column] = len(rows[-1])
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._rows = np.concatenate([np.empty(0, np.int64), *rows])
        self._logs = np.concatenate([np.empty(0), *logs])

    @staticmethod
    def fits(sites: LogSites, mechanism: Sampling) -> bool:
        """Return whether the candidates of all words can be kept: those of any law where the vocabulary is small."""
        few = type(mechanism) in (CusText, WBB)
        return few or len(sites.kinds) * len(sites.vectors) <= _MOST

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the sums of ln P over what can come out, and how much of what was sent cannot."""
        likelihood, possible = self._sums(rows, counts, columns)
        return likelihood, counts.sum(axis=1, keepdims=True) - possible

    def _sums(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        place = np.full(len(self.sites.vectors), -1, np.int64)
        place[rows] = np.arange(len(rows))
        likelihood, possible = (np.zeros((len(counts), len(columns))) for _ in range(2))
        _add_supports(self._starts, self._rows, self._logs, place, counts, columns, likelihood, possible)
        return likelihood, possible


@numba.njit(nogil=True, cache=True)
def _add_supports(starts, rows, logs, place, counts, columns, likelihood, possible):  # type: ignore[no-untyped-def]
    for number in range(columns.shape[0]):
        for k in range(starts[columns[number]], starts[columns[number] + 1]):
            output = place[rows[k]]
            if output >= 0:
                for i in range(counts.shape[0]):
                    likelihood[i, number] += counts[i, output] * logs[k]
                    possible[i, number] += counts[i, output]
