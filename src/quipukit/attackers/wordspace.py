"""Words as directions: centered vectors of length 1, for attackers that compare what was sent with a log word by word.

A word without a vector is a direction of its own, at right angles to all others: it is like itself and nothing else. So
an unknown word that was sent unchanged is found, and one that nobody sent costs nothing.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.bags import Bags
from quipukit.attackers.base import Sent
from quipukit.attackers.scratch import room
from quipukit.attackers.tokens import LogTokens, divided
from quipukit.jit import numba
from quipukit.threads import in_threads
from quipukit.vectors.store import Vectors

Singles = NDArray[np.float32]

# Texts agree on a number of words if this share of them has it: mechanisms that replace words one by one keep it, and
# punctuation moves single texts; of mechanisms that write new queries it says nothing.
_AGREEMENT = 0.5
_ROWS = 8192  # of the log at a time
_TILE = 512
_TILES = 16  # that a thread works on at a time
_TOGETHER = (16, 8, 4)


class WordSpace:
    """The directions of the words of a log; ``whitened`` makes all directions equally common."""

    @classmethod
    def of(cls, vectors: Vectors, tokens: LogTokens, whitened: bool = False) -> "WordSpace":
        """Return the space of a log, which attackers with the same vectors share."""
        return tokens.derived((vectors.fingerprint, whitened), lambda: cls(vectors, tokens, whitened))

    def __init__(self, vectors: Vectors, tokens: LogTokens, whitened: bool = False) -> None:
        """Look up every word of the log."""
        self._vectors = vectors
        self._map = whitening(vectors) if whitened else None
        self.tokens = tokens
        self.matrix = self.directions(tokens.words)
        self._few = functools.lru_cache(maxsize=64)(self._of_few)
        self.known: NDArray[np.bool_] = np.asarray(self.matrix.any(axis=1))

    @functools.cached_property
    def known_matrix(self) -> Singles:
        """Return the directions of the words that have one: a third of a real log's words are names without."""
        return self.matrix[self.known]

    @functools.cached_property
    def bags(self) -> Bags:
        """Return which queries of the log have the same known words: a product with one is a product with all."""
        return Bags.of(self.tokens, self.known)

    @functools.cached_property
    def sums(self) -> Singles:
        """Return for every bag of words the sum of their directions, of length 1."""
        rows = room((len(self.bags), self._vectors.dimension))
        for start in range(0, len(rows), _ROWS):
            starts = self.bags.starts[start : start + _ROWS + 1]
            rows[start : start + _ROWS] = unit(_added(self.matrix, self.bags.ids, starts))
        return rows

    def sum_of(self, texts: Sequence[Sequence[str]]) -> Singles:
        """Return the same for texts that are divided into words."""
        words = sorted({word for text in texts for word in text})
        number = {word: row for row, word in enumerate(words)}
        ids = np.array([number[word] for text in texts for word in text], np.int32)
        starts = np.cumsum([0, *map(len, texts)])
        return unit(_added(self.few_directions(words), ids, starts))

    def few_directions(self, words: Sequence[str]) -> Singles:
        """Return the same as `directions`, for words that one attacker after the other asks for."""
        return self._few(tuple(words))

    def _of_few(self, words: tuple[str, ...]) -> Singles:
        found = self.directions(words)
        found.flags.writeable = False
        return found

    def directions(self, words: Sequence[str]) -> Singles:
        """Return the direction of every word; 0 for a word without a vector."""
        found = room((len(words), self._vectors.dimension))
        found[:] = 0
        rows = np.fromiter((self._vectors.row(word) for word in words), np.int64, len(words))
        here = np.flatnonzero(rows >= 0)
        for start in range(0, len(here), 16_384):
            some = here[start : start + 16_384]
            centered = self._vectors.matrix[rows[some]] - self._vectors.mean
            found[some] = unit(centered if self._map is None else centered @ self._map)
        return found


def tiled_products(points: "Sequence[Singles]", rows: Singles) -> "list[Singles]":
    """Return the products of every block of points with all rows.

    As many points at once as the processor's library allows without the last bits of one depending on the others, and
    one tile of rows at a time, which stays in the processor's cache.
    """
    together = points_at_once(rows.shape[1])
    bounds = np.cumsum([0, *map(len, points)])
    stacked = np.zeros((-(-int(bounds[-1]) // together) * together, rows.shape[1]), np.float32)
    stacked[: bounds[-1]] = np.concatenate([rows[:0], *points])
    products = np.empty((int(bounds[-1]), len(rows)), np.float32)

    def fill_several(first: int) -> None:
        for start in range(first, min(first + _TILE * _TILES, len(rows)), _TILE):
            fill(start)

    def fill(start: int) -> None:
        tile = rows[start : start + _TILE]
        size = len(tile)
        if size < _TILE:  # another shape may be multiplied in another order
            tile = np.concatenate([tile, np.zeros((_TILE - size, rows.shape[1]), np.float32)])
        for first in range(0, len(stacked), together):
            found = tile @ stacked[first : first + together].T
            into = products[first : first + together, start : start + size]  # less than all, of the last points
            into[:] = found[:size, : len(into)].T

    in_threads(fill_several, range(0, len(rows), _TILE * _TILES))
    return [products[start:stop] for start, stop in itertools.pairwise(bounds)]


@functools.cache
def points_at_once(dimension: int) -> int:
    """Return how many points can be multiplied at once so that the place of a point does not change its products.

    How a matrix product is divided into sums is up to the library and the processor; here it is tried out.
    """
    rng = np.random.default_rng(0)
    tile = rng.standard_normal((_TILE, dimension), np.float32)
    for count in _TOGETHER:
        points = rng.standard_normal((count, dimension), np.float32)
        first = tile @ points.T
        if all((tile @ np.roll(points, by, 0).T == np.roll(first, by, 1)).all() for by in range(count)):
            return count
    return 1


@numba.njit(nogil=True, cache=True)
def _added(matrix, ids, starts):  # type: ignore[no-untyped-def]
    # In float64, in the order of the words: the same for a text wherever it stands.
    sums = np.zeros((starts.shape[0] - 1, matrix.shape[1]))
    for row in range(sums.shape[0]):
        for place in range(starts[row], starts[row + 1]):
            for k in range(matrix.shape[1]):
                sums[row, k] += matrix[ids[place], k]
    return sums


def whitening(vectors: Vectors) -> NDArray[np.float64]:
    """Return the matrix that makes the covariance of the vectors the identity; directions without spread are left."""

    def build() -> NDArray[np.float64]:
        values, directions = np.linalg.eigh(vectors.covariance)
        scale = np.where(values > values.max() * 1e-9, 1 / np.sqrt(np.maximum(values, values.max() * 1e-9)), 0)
        product: NDArray[np.float64] = directions * scale
        return product

    return vectors.derived("whitening", build)


def unit(rows: "NDArray[Any]") -> "NDArray[Any]":
    """Return rows of length 1; those of length 0 stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


@dataclass(frozen=True)
class Slots:
    """What was sent, position by position: the words that stood there, with how often each did.

    ``length`` is the number of words that most texts have; texts with another number have no positions to compare.
    """

    length: int
    counts: "list[Counter[str]]"
    agreed: bool  # whether the texts agree on the number of words

    @classmethod
    def of(cls, sent: Sent) -> "Slots":
        """Divide texts into words; one without any says nothing about the number of words, unless none has any."""
        texts = [words for words in divided(sent.texts) if words] or divided(sent.texts)
        lengths = Counter(map(len, texts))
        # Of several numbers that are equally common the smallest: the same whatever the order of the texts.
        length = min(lengths, key=lambda number: (-lengths[number], number)) if lengths else 0
        kept = [words for words in texts if len(words) == length]
        columns = [Counter(column) for column in zip(*kept, strict=True)]
        return cls(length, columns, bool(texts) and len(kept) >= _AGREEMENT * len(texts))
