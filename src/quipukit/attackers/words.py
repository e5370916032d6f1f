"""Words: the centroid of word vectors and the number of words give most queries away.

Like QuIA, but with vectors of words in place of a sentence encoder, and with the number of words, which mechanisms that
replace words one by one do not hide. The order of the words plays no part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.lengths import length_cost
from quipukit.attackers.tokens import Ids, divided
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, tiled_products, unit
from quipukit.encoders.base import similarities
from quipukit.progress import Progress
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_LONGEST = 24  # queries with more words are as long as each other
_SLAB = 8192
_BATCH = 32


class WordRows:
    """A vector for every query of a log: the sum of its words' directions, and its number of words.

    The number is a coordinate of its own for every length, where what was sent has the cost of that length: so the
    product is the cosine less the cost. All rows have the same length, those without a known word too.
    """

    def __init__(self, sums: Singles, lengths: Ids) -> None:
        """Keep what the rows are made of; they are put together when they are read."""
        self._sums, self._lengths = sums, np.minimum(lengths, _LONGEST)

    def __len__(self) -> int:
        return len(self._sums)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of rows and of coordinates."""
        return len(self._sums), self._sums.shape[1] + _LONGEST + 2

    def __getitem__(self, rows: Any) -> Singles:
        sums = self._sums[rows]
        ends = np.zeros((len(sums), _LONGEST + 2), np.float32)
        ends[np.arange(len(sums)), self._lengths[rows]] = 1
        ends[:, -1] = ~sums.any(axis=1)
        return np.concatenate([sums, ends], axis=1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        return self[:].astype(dtype or np.float32, copy=False)


@dataclass(kw_only=True, eq=False)
class Words(Attacker):
    """The score of a query is the cosine of its sum of word directions with the mean of those of what was sent.

    Where what was sent agrees on a number of words, queries with another number come later. The score is divided by a
    number that is the same for the whole log.
    """

    name = "Words"
    summary = "similarity of a log's query to the centroid of the word vectors sent, among queries of equal length"

    vectors: Vectors = field(default_factory=load_vectors)
    whiten: bool = False

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Add up the words of every query of the log."""
        self._space = WordSpace.of(self.vectors, log.tokens, self.whiten)
        self._log = WordRows(self._space.sums, log.tokens.lengths)

    @property
    def log_vectors(self) -> WordRows:
        """Return the vectors of the log."""
        return self._log

    def sent_vectors(self, batch: Sequence[Sent]) -> Floats:
        """Return the centroid of each, with the cost of every number of words."""
        return np.array([self._vector(sent) for sent in batch]).reshape(len(batch), self._log.shape[1])

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Score several at a time, in single precision."""
        for start in range(0, len(batch), _BATCH):
            vectors = unit(self.sent_vectors(batch[start : start + _BATCH]))
            points = [vector[None, : self.vectors.dimension].astype(np.float32) for vector in vectors]
            lengths = np.minimum(self._space.tokens.lengths, _LONGEST)
            for vector, (cosines,) in zip(vectors, tiled_products(points, self._space.sums), strict=True):
                yield (cosines + vector[self.vectors.dimension :][lengths]) / np.sqrt(2)

    def _vector(self, sent: Sent) -> Floats:
        (centroid,) = unit(self._space.sum_of(divided(sent.texts)).mean(axis=0, dtype=np.float64, keepdims=True))
        costs = length_cost(Slots.of(sent), np.arange(_LONGEST + 1, dtype=np.int32))
        return np.concatenate([centroid, -costs, [0.0]])

    def scores(self, sent: Sent) -> Floats:
        """Return the cosine with the centroid, less what another number of words costs."""
        vector = self._vector(sent)
        slabs = (self._log[start : start + _SLAB] for start in range(0, len(self._log), _SLAB))
        return np.concatenate([np.empty(0), *(similarities(vector, slab, "cosine") for slab in slabs)])
