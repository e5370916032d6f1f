"""Lexical: words that come up again and again over what was sent are words of the original, or near it.

The words of all texts are counted together. What the log's own language would bring up by chance is subtracted, and the
rest is a profile, which every query of the log is compared with by the cosine of tf-idf vectors. Vectors of words are
not needed, and the order of the words plays no part.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.lengths import costs_by_length
from quipukit.attackers.recent import Recent
from quipukit.attackers.scratch import stored
from quipukit.attackers.several import WIDTH, in_spans
from quipukit.attackers.tokens import divided
from quipukit.attackers.wordspace import Slots
from quipukit.jit import fixed, numba
from quipukit.progress import Progress


@dataclass(kw_only=True, eq=False)
class Lexical(Attacker):
    """The score of a query is its cosine with the profile of what was sent, less what another number of words costs.

    A word w that was sent a times weighs ln(1 + max(0, a - E)) idf(w), where E is how often it would be among as many
    words of the log, and idf(w) = ln((n + 1) / (n_w + 1/2)).
    """

    name = "Lexical"
    summary = "compares the words of a log's query with those sent more often than by chance"

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Count the words of the log."""
        self._tokens = tokens = log.tokens
        self._recent = Recent.of(tokens, type(self))
        self._idf = np.log((len(tokens) + 1) / (tokens.frequencies + 0.5))
        self._expected = np.bincount(tokens.ids, minlength=len(tokens.words)) / max(1, len(tokens.ids))
        self._unseen = np.log((len(tokens) + 1) / 0.5)
        self._norms = tokens.derived("lexical norms", lambda: stored(_norms(self._idf, tokens.ids, tokens.starts)))

    def scores(self, sent: Sent) -> Floats:
        """Return the cosine with the profile."""
        return next(Lexical.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Compare many at once: the words of the log are looked at once for several sets of texts."""
        return self._recent.scores(batch, self._compute)

    def _compute(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        for start in range(0, len(batch), WIDTH):
            yield from self._several(batch[start : start + WIDTH])

    def _several(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        tokens = self._tokens
        weights, lengths = np.zeros((len(tokens.words), WIDTH)), np.zeros(WIDTH)
        costs = np.zeros((max([tokens.longest, *(Slots.of(sent).length for sent in batch)]) + 2, WIDTH))
        for column, sent in enumerate(batch):
            profile, lengths[column] = self._profile(sent)
            weights[:, column] = profile * self._idf
            own = costs_by_length(Slots.of(sent), tokens.longest)
            costs[: len(own), column] = own
        scores = Buffers.of(tokens).empty((WIDTH, len(tokens)))
        parts = (fixed(self._norms), fixed(tokens.ids), fixed(tokens.starts), costs, scores)
        in_spans(lambda first, last: _score(first, last, weights, lengths, *parts), len(tokens))
        return iter(scores[: len(batch)])

    def _profile(self, sent: Sent) -> tuple[Floats, float]:
        """Return the weight of every word of the log, and the length of all weights."""
        counts = Counter(word for words in divided(sent.texts) for word in words)
        total, number = sum(counts.values()), self._tokens.number
        profile = np.zeros(len(self._tokens.words))
        others = 0.0  # of the length of the profile: words that the log does not have
        for word in sorted(counts):
            if word in number:
                excess = max(0.0, counts[word] - total * self._expected[number[word]])
                profile[number[word]] = np.log1p(excess) * self._idf[number[word]]
            else:
                others += (np.log1p(counts[word]) * self._unseen) ** 2
        return profile, float(np.sqrt(profile @ profile + others))


@numba.njit(nogil=True, cache=True)
def _score(first, last, weights, lengths, norms, ids, starts, costs, scores):  # type: ignore[no-untyped-def]
    total = np.empty(WIDTH)
    for row in range(first, last):
        begin, end = starts[row], starts[row + 1]
        for k in range(WIDTH):
            total[k] = 0.0
        for place in range(begin, end):
            word = ids[place]
            for k in range(WIDTH):
                total[k] += weights[word, k]
        for k in range(WIDTH):
            scale = norms[row] * lengths[k]
            cosine = total[k] / scale if scale > 0 else 0.0
            scores[k, row] = cosine - costs[end - begin, k]


@numba.njit(nogil=True, cache=True)
def _norms(idf, ids, starts):  # type: ignore[no-untyped-def]
    # A word that occurs twice counts twice, as in the products.
    norms = np.zeros(starts.shape[0] - 1)
    for row in range(norms.shape[0]):
        for one in range(starts[row], starts[row + 1]):
            for other in range(starts[row], starts[row + 1]):
                if ids[one] == ids[other]:
                    norms[row] += idf[ids[one]] ** 2
        norms[row] = np.sqrt(norms[row])
    return norms
