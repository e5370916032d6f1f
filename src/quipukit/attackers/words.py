"""Words: the centroid of word vectors and the number of words give most queries away.

Like QuIA, but with vectors of words in place of a sentence encoder, and with the number of words, which mechanisms that
replace words one by one do not hide. The order of the words plays no part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.ahead import Ahead
from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.lengths import less_costs
from quipukit.attackers.recent import Recent, held
from quipukit.attackers.tokens import divided
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, tiled_products, unit
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors


@dataclass(kw_only=True, eq=False)
class Words(Attacker):
    """The score of a query is the cosine of its sum of word directions with the mean of those of what was sent.

    Where what was sent agrees on a number of words, queries with another number come later.
    """

    name = "Words"
    summary = "similarity of a log's query to the centroid of the word vectors sent, among queries of equal length"

    vectors: Vectors = field(default_factory=load_vectors)
    whiten: bool = False

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Add up the words of every query of the log."""
        self._space = WordSpace.of(self.vectors, log.tokens, self.whiten)
        own = (type(self), self.vectors.fingerprint, self.whiten)
        # Of a long log the products are kept, from which scores are quickly made again.
        self._at_once = held(len(log))
        self._recent, self._ahead = Recent.of(log.tokens, own, self._at_once), Ahead.of(log.tokens, own)

    def scores(self, sent: Sent) -> Floats:
        """Return the cosine with the centroid, less what another number of words costs."""
        return next(Words.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compare many at once."""
        return self._recent.scores(batch, self._compute)

    def expect(self, batch: Sequence[Sent]) -> None:
        """Multiply all centroids with the sums of the log, which are read once."""
        self._ahead.fill(batch, self._products)

    def _compute(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        for start in range(0, len(batch), self._at_once):
            some = batch[start : start + self._at_once]
            products = self._ahead.products(some, self._products)
            yield from in_threads(self._scored, zip(some, products, strict=True))

    def _products(self, batch: Sequence[Sent]) -> "list[Singles]":
        return tiled_products(in_threads(self._centroid, batch), self._space.sums)

    def _centroid(self, sent: Sent) -> Singles:
        sums = self._space.sum_of(divided(sent.texts))
        if not len(sums):
            return np.zeros((1, self.vectors.dimension), np.float32)
        return unit(sums.mean(axis=0, dtype=np.float64, keepdims=True)).astype(np.float32)

    def _scored(self, part: "tuple[Sent, Singles]") -> Floats:
        sent, (cosines,) = part
        return less_costs(cosines, self._space.bags.of_row, Slots.of(sent), self._space.tokens)
