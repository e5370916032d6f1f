"""Positional: words stay in their places, so the mean of what stood in a place points to the word that was hidden.

A mechanism that replaces words one by one adds noise to every word on its own. Over N texts the noise at a position
averages out: the mean of the N words' vectors estimates the vector of the original's word, with an error that falls as
1/sqrt(N). Neither the mechanism nor its parameter need be known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, tiled_products
from quipukit.jit import numba
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

    def scores(self, sent: Sent) -> Floats:
        """Return the mean cosine over positions."""
        return next(self.scores_of([sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compare many at once: one product for the positions of several sets of texts."""
        for start in range(0, len(batch), _BATCH):
            slots = [Slots.of(sent) for sent in batch[start : start + _BATCH]]
            centers = [self._centers(one).astype(np.float32) for one in slots]
            yield from in_threads(self._scored, zip(slots, tiled_products(centers, self._space.matrix), strict=True))

    def _centers(self, slots: Slots) -> Floats:
        """Return for every position the mean direction of its words, over the length of the mean, unknown words too."""
        centers = np.zeros((slots.length, self.vectors.dimension))
        for row, counts in enumerate(slots.counts):
            words = sorted(counts)
            shares = np.array([counts[word] for word in words]) / sum(counts.values())
            directions = self._space.directions(words).astype(np.float64)
            unknown = ~directions.any(axis=1)
            mean = shares @ directions
            length = np.sqrt(mean @ mean + (shares[unknown] ** 2).sum())
            centers[row] = mean / length if length > 0 else 0
        return centers

    def _scored(self, part: tuple[Slots, Singles]) -> Floats:
        slots, table = part
        for row, counts in enumerate(slots.counts):
            self._add_unknown(table[row], counts)
        tokens = self._space.tokens
        return _aligned(table, tokens.ids, tokens.starts)

    def _add_unknown(self, cosines: Singles, counts: "dict[str, int]") -> None:
        """Set the cosines of words without a vector that were sent."""
        number, total = self._space.tokens.number, sum(counts.values())
        words = sorted(counts)
        unknown = {word: counts[word] / total for word in words if self.vectors.row(word) < 0}
        if not unknown:
            return
        known = self._space.directions([word for word in words if word not in unknown]).astype(np.float64)
        shares = np.array([counts[word] / total for word in words if word not in unknown])
        mean = shares @ known if len(shares) else np.zeros(1)
        length = np.sqrt(mean @ mean + sum(share**2 for share in unknown.values()))
        for word, share in unknown.items():
            if word in number:
                cosines[number[word]] = share / length


@numba.njit(nogil=True, cache=True)
def _aligned(table, ids, starts):  # type: ignore[no-untyped-def]
    slots = table.shape[0]
    scores = np.empty(starts.shape[0] - 1)
    for row in range(scores.shape[0]):
        begin = starts[row]
        length = starts[row + 1] - begin
        longer, shorter = max(slots, length), min(slots, length)
        total = 0.0
        for i in range(shorter):
            total += table[i, ids[begin + i]]
        if longer - shorter == 1:
            # Leave out one word of the longer side: from its last place forward, one step of the change at a time.
            best = total
            for i in range(shorter - 1, -1, -1):
                if length > slots:
                    total += table[i, ids[begin + i + 1]] - table[i, ids[begin + i]]
                else:
                    total += table[i + 1, ids[begin + i]] - table[i, ids[begin + i]]
                best = max(best, total)
            total = best
        scores[row] = total / longer if longer > 0 else 0.0
        if longer - shorter > 1:
            scores[row] -= longer - shorter
    return scores
