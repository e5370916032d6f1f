"""MaxSim: one variant that stays near the original is enough, however far the others are.

A centroid forgets a single text that leaked. MaxSim looks at every text on its own, and takes the most similar one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.lengths import length_cost
from quipukit.attackers.scratch import room
from quipukit.attackers.tokens import divided
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, unit
from quipukit.errors import SpecError
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_TILE = 2048  # rows of the log at a time
_BATCH = 32


@dataclass(kw_only=True, eq=False)
class MaxSim(Attacker):
    """The score of a query is the largest cosine of its sum of word directions with that of any text sent.

    Sums are taken along the ``dimension`` principal directions of the log: N texts cost N times as much as a centroid.
    Where what was sent agrees on a number of words, queries with another number come later.
    """

    name = "MaxSim"
    summary = "largest similarity of a log's query to any single text that was sent"

    vectors: Vectors = field(default_factory=load_vectors)
    dimension: int = 64

    def __post_init__(self) -> None:
        """Check the options."""
        if self.dimension < 1:
            raise SpecError(f"MaxSim: dimension is {self.dimension}; give a number from 1 on.")

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Find the principal directions of the log, and the place of every query along them."""
        self._space = WordSpace.of(self.vectors, log.tokens)
        sums = self._space.sums
        gram = np.zeros((sums.shape[1], sums.shape[1]))
        for products in in_threads(lambda start: _gram(sums[start : start + _TILE]), range(0, len(sums), _TILE)):
            gram += products
        ((_, directions),) = in_threads(np.linalg.eigh, [gram])  # small: one thread is faster than two that wait
        self._axes = directions[:, ::-1][:, : self.dimension].astype(np.float32)
        # By length, so that queries of one length lie together.
        self._order = np.argsort(log.tokens.lengths, kind="stable")
        self._lengths = log.tokens.lengths[self._order]
        self._rows = room((len(sums), self._axes.shape[1]))

        def project(start: int) -> None:
            self._rows[start : start + _TILE] = unit(sums[self._order[start : start + _TILE]] @ self._axes)

        in_threads(project, range(0, len(sums), _TILE))

    def scores(self, sent: Sent) -> Floats:
        """Return the largest cosine."""
        slots, lengths = Slots.of(sent), self._space.tokens.lengths
        texts = list(dict.fromkeys(divided(sent.texts)))
        points = unit(self._space.sum_of(texts) @ self._axes).astype(np.float32)
        cost = length_cost(slots, lengths)
        best = np.zeros(len(lengths))
        # Where the number of words decides, queries of other lengths need no comparison: they come last anyway.
        first, last = np.searchsorted(self._lengths, (slots.length - 1, slots.length + 2)) if slots.agreed else (0, 0)
        if first == last:
            first, last = 0, len(best)
        if points.size:
            found = [_largest(self._rows[at : min(at + _TILE, last)], points) for at in range(first, last, _TILE)]
            best[self._order[first:last]] = np.concatenate([np.empty(0), *found])
        return best - cost

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Score several at a time, in threads."""
        for start in range(0, len(batch), _BATCH):
            yield from in_threads(self.scores, batch[start : start + _BATCH])


def _gram(rows: Singles) -> Singles:
    product: Singles = rows.T @ rows
    return product


def _largest(rows: Singles, points: Singles) -> Singles:
    # Points by rows: the largest of every column takes a third of the time of the largest of every row.
    largest: Singles = (points @ rows.T).max(axis=0)
    return largest
