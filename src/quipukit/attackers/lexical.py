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
from quipukit.attackers.lengths import length_costs
from quipukit.attackers.recent import Recent
from quipukit.attackers.scratch import stored
from quipukit.attackers.tokens import divided
from quipukit.attackers.wordspace import Slots
from quipukit.jit import numba
from quipukit.progress import Progress
from quipukit.threads import in_threads

_BATCH = 32


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
        length = np.sqrt(profile @ profile + others)
        scores: Floats = _cosines(profile * self._idf, length, self._norms, self._tokens.ids, self._tokens.starts)
        scores -= length_costs(Slots.of(sent), self._tokens)
        return scores

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Score several at a time, in threads."""
        return self._recent.scores(batch, self._compute)

    def _compute(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        for start in range(0, len(batch), _BATCH):
            yield from in_threads(self.scores, batch[start : start + _BATCH])


@numba.njit(nogil=True, cache=True)
def _cosines(weights, length, norms, ids, starts):  # type: ignore[no-untyped-def]
    cosines = np.zeros(starts.shape[0] - 1)
    for row in range(cosines.shape[0]):
        scale = norms[row] * length
        if scale > 0:
            for place in range(starts[row], starts[row + 1]):
                cosines[row] += weights[ids[place]]
            cosines[row] /= scale
    return cosines


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
