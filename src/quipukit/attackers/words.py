"""Words: the centroid of word vectors and the number of words give most queries away.

Like QuIA, but with vectors of words in place of a sentence encoder, and with the number of words, which mechanisms that
replace words one by one do not hide. The order of the words plays no part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, unit
from quipukit.progress import Progress
from quipukit.text import tokenize
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_BATCH = 32
_ONE_OFF = 0.1  # what a query that is one word longer or shorter loses: punctuation may have moved the count
_ROWS = 8192


@dataclass(kw_only=True, eq=False)
class Words(Attacker):
    """The score of a query is the cosine of its sum of word directions with the mean of those of what was sent.

    Where the texts agree on a number of words, queries with another number come later: one more or less costs 0.1, any
    further one 2.
    """

    name = "Words"
    summary = "similarity of a log's query to the centroid of the word vectors sent, among queries of equal length"

    vectors: Vectors = field(default_factory=load_vectors)
    whiten: bool = False

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Add up the words of every query of the log."""
        self._space = WordSpace(self.vectors, log.tokens, self.whiten)
        tokens = log.tokens
        self._rows = np.empty((len(tokens), self.vectors.dimension), np.float32)
        for start in range(0, len(tokens), _ROWS):
            stop = min(start + _ROWS, len(tokens))
            self._rows[start:stop] = unit(self._sums(tokens.ids, tokens.starts[start : stop + 1]))

    def scores(self, sent: Sent) -> Floats:
        """Return the cosine with the centroid, less what another number of words costs."""
        return next(self.scores_of([sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Multiply the log with many centroids at once."""
        for start in range(0, len(batch), _BATCH):
            some = batch[start : start + _BATCH]
            centroids = unit(np.array([self._centroid(sent) for sent in some]))
            cosines = centroids.astype(np.float32) @ self._rows.T
            for sent, row in zip(some, cosines, strict=True):
                yield row - length_cost(Slots.of(sent), self._space.tokens.lengths)

    def _centroid(self, sent: Sent) -> Floats:
        texts = [tokenize(text) for text in sent.texts]
        words = sorted({word for text in texts for word in text})
        directions = dict(zip(words, self._space.directions(words).astype(np.float64), strict=True))
        none = np.zeros(self.vectors.dimension)
        return unit(np.array([sum((directions[word] for word in text), none) for text in texts])).mean(axis=0)

    def _sums(self, ids: "np.ndarray", starts: "np.ndarray") -> Singles:
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        sums = np.zeros((len(starts) - 1, self.vectors.dimension), np.float32)
        np.add.at(sums, owner, self._space.matrix[ids[starts[0] : starts[-1]]])
        return sums


def length_cost(slots: Slots, lengths: "np.ndarray") -> Floats:
    """Return what every query loses for its number of words; nothing where the texts do not agree on one."""
    if not slots.agreed:
        return np.zeros(len(lengths))
    off = np.abs(lengths.astype(np.int64) - slots.length)
    return np.where(off <= 1, _ONE_OFF * off, 2.0 * off)
