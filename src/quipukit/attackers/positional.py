"""Positional: words stay in their places, so the mean of what stood in a place points to the word that was hidden.

A mechanism that replaces words one by one adds noise to every word on its own. Over N texts the noise at a position
averages out: the mean of the N words' vectors estimates the vector of the original's word, with an error that falls as
1/sqrt(N). Neither the mechanism nor its parameter need be known.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.recent import Recent
from quipukit.attackers.several import WIDTH, in_spans
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, tiled_products
from quipukit.jit import fixed, numba
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_BATCH = 32  # sets of texts that are compared with a tile of the log's words, while it is in the processor's cache


@dataclass(kw_only=True, eq=False)
class Positional(Attacker):
    """The score of a query is the mean over positions of the cosine of its word with the mean of the words sent there.

    A query that is one word longer or shorter is compared at its best alignment, and a missing word counts 0. All other
    lengths come after those, by the words that stand in equal places.
    """

    name = "Positional"
    summary = "compares the words of a log's query with the mean of the words sent at each position"

    vectors: Vectors = field(default_factory=load_vectors)
    whiten: bool = False

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Look up the words of the log."""
        self._space = WordSpace.of(self.vectors, log.tokens, self.whiten)
        self._recent = Recent.of(log.tokens, (type(self), self.vectors.fingerprint, self.whiten))

    def scores(self, sent: Sent) -> Floats:
        """Return the mean cosine over positions."""
        return next(Positional.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compare many at once: one product for the positions of several sets of texts."""
        return self._recent.scores(batch, self._compute)

    def _compute(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        for start in range(0, len(batch), _BATCH):
            centers = in_threads(self._centers, map(Slots.of, batch[start : start + _BATCH]))
            products = tiled_products([one.directions for one in centers], self._space.known_matrix)
            scored = list(zip(centers, products, strict=True))
            # One after the other in the order in which they are asked for, as far as the number of words is the same.
            for _, alike in itertools.groupby(scored, key=lambda part: len(part[1])):
                same = list(alike)
                for first in range(0, len(same), WIDTH):
                    yield from self._several(same[first : first + WIDTH])

    def _centers(self, slots: Slots) -> "_Centers":
        words = sorted({word for counts in slots.counts for word in counts})
        number = {word: column for column, word in enumerate(words)}
        shares = np.zeros((slots.length, len(words)))
        for row, counts in enumerate(slots.counts):
            for word, count in counts.items():
                shares[row, number[word]] = count / counts.total()
        directions = self._space.few_directions(words).astype(np.float64)
        unknown = np.flatnonzero(~directions.any(axis=1))
        # As if every unknown word had a direction of its own.
        means, others = shares @ directions, shares[:, unknown]
        lengths = np.sqrt((means**2).sum(axis=1, keepdims=True) + (others**2).sum(axis=1, keepdims=True))
        scale = np.where(lengths > 0, lengths, 1.0)
        in_log = [(column, self._space.tokens.number.get(words[word], -1)) for column, word in enumerate(unknown)]
        return _Centers((means / scale).astype(np.float32), others / scale, [pair for pair in in_log if pair[1] >= 0])

    def _several(self, parts: "Sequence[tuple[_Centers, Singles]]") -> Iterator[Floats]:
        """Return the scores of several sets of texts with the same number of words."""
        tokens = self._space.tokens
        table = np.zeros((len(self._space.matrix), len(parts[0][1]), WIDTH), np.float32)
        for column, (centers, products) in enumerate(parts):
            table[self._space.known, :, column] = products.T
            for unknown, word in centers.unknown_words:
                table[word, :, column] = centers.unknown[:, unknown]
        scores = Buffers.of(tokens).empty((WIDTH, len(tokens)))
        ids, starts = fixed(tokens.ids), fixed(tokens.starts)
        in_spans(lambda first, last: _align(first, last, table, ids, starts, scores), len(tokens))
        return iter(scores[: len(parts)])


@dataclass(frozen=True)
class _Centers:
    """The mean direction of every position, and its cosines with words that have no vector."""

    directions: Singles
    unknown: Floats
    unknown_words: "list[tuple[int, int]]"  # columns of ``unknown``, and the numbers of these words in the log


@numba.njit(nogil=True, cache=True)
def _align(first, last, table, ids, starts, scores):  # type: ignore[no-untyped-def]
    slots = table.shape[1]
    total, best = np.empty(WIDTH), np.empty(WIDTH)
    for row in range(first, last):
        begin = starts[row]
        length = starts[row + 1] - begin
        longer, shorter = max(slots, length), min(slots, length)
        for k in range(WIDTH):
            total[k] = 0.0
        for i in range(shorter):
            word = ids[begin + i]
            for k in range(WIDTH):
                total[k] += table[word, i, k]
        if longer - shorter == 1:
            # Leave out one word of the longer side: from its last place forward, one step of the change at a time.
            for k in range(WIDTH):
                best[k] = total[k]
            for i in range(shorter - 1, -1, -1):
                word = ids[begin + i]
                other, place = (ids[begin + i + 1], i) if length > slots else (word, i + 1)
                for k in range(WIDTH):
                    total[k] += table[other, place, k] - table[word, i, k]
                    best[k] = max(best[k], total[k])
            for k in range(WIDTH):
                total[k] = best[k]
        off = longer - shorter if longer - shorter > 1 else 0
        for k in range(WIDTH):
            scores[k, row] = total[k] / longer - off if longer > 0 else 0.0
