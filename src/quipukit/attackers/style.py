"""Style: what users' queries look like, whatever was sent.

Queries of one kind of user (questions, for instance, of a handful of words) differ from the rest of a log. An attacker
who has seen queries of other such users ranks the log by that likeness alone, before a single text arrives. It learns
nothing from what was sent: what it finds is the floor of the risk, under any mechanism.
"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.scratch import room, stored
from quipukit.attackers.tokens import LogTokens
from quipukit.attackers.wordspace import Singles, WordSpace
from quipukit.jit import numba
from quipukit.progress import Progress
from quipukit.text import key, tokenize
from quipukit.threads import iter_in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

QUESTIONS = [
    *("what", "who", "whom", "whose", "where", "when", "why", "which", "how", "is", "are", "was", "were", "do", "does"),
    *("did", "can", "could", "should", "would", "will", "define"),
]
_LONGEST = 16
_WIDTH = _LONGEST + 1 + len(QUESTIONS) + 1 + 4  # of what describes the form of a query
_SLAB = 8192
_FACTORS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
_RIDGE = 0.1  # of the mean variance, added to every feature's: tens of examples stand against hundreds of features


@dataclass(kw_only=True, eq=False)
class Style(Attacker):
    """The score of a query is its linear discriminant between queries of other users and the queries of the log.

    The log is divided into two halves, and a query is scored by what was learned with the other half: as part of what
    it is compared with, it would count as unlike itself. Without queries of others all scores are 0.
    """

    name = "Style"
    summary = "how much a log's query looks like queries of other users; learns nothing from what was sent"
    learns_from_others = True

    vectors: Vectors = field(default_factory=load_vectors)

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Describe every query of the log, and find mean and covariance of its halves."""
        self._log = log.tokens
        self._space = WordSpace.of(self.vectors, log.tokens)
        self._forms = log.tokens.derived("style", lambda: _Forms.of(log.texts, log.tokens))
        self._halves, self._moments = log.tokens.derived(
            ("style", self.vectors.fingerprint), lambda: self._divided(log.texts)
        )
        self._learned: dict[tuple[str, ...], Floats] = log.tokens.derived(
            ("learned", type(self), self.vectors.fingerprint), dict
        )

    def scores(self, sent: Sent) -> Floats:
        """Return the discriminant; the same for all that is guessed with the same queries of others."""
        if sent.others not in self._learned:
            learned = room((len(self._forms),), np.float64)
            self._learn(sent.others, learned)
            learned.flags.writeable = False  # handed out again and again
            self._learned[sent.others] = learned
        return self._learned[sent.others]

    def log_odds(self, sent: Sent) -> Floats:
        """Return how much more likely each query is among such users' than in the log, as a logarithm.

        The discriminant is one already, if the examples tell what users ask in full. A few dozen do not, so it is made
        smaller, by the factor that is best for examples which were left out when it was learned: 0 where they look no
        more like one another than like the log.
        """
        others = sent.others
        factors = self._log.derived(("style factors", type(self), self.vectors.fingerprint), dict)
        if others not in factors:
            factors[others] = self._factor(others)
        return factors[others] * self.scores(sent)

    def _factor(self, others: Sequence[str]) -> float:
        halves = (others[::2], others[1::2])
        if not halves[1]:
            return 0.0
        gains = np.zeros(len(_FACTORS))
        for learned, held in (halves, halves[::-1]):
            direction = self._moments[0].discriminant(self._examples(learned).mean(axis=0, dtype=np.float64))
            rows = self._halves[1][:: max(1, len(self._halves[1]) // _SLAB)]
            usual, own = (_weighted(found, direction) for found in (self._features(rows), self._examples(held)))
            for number, factor in enumerate(_FACTORS):
                scaled = factor * usual
                top = scaled.max(initial=0.0)
                gains[number] += (factor * own - top - np.log(np.exp(scaled - top).mean())).sum() if len(rows) else 0.0
        return float(_FACTORS[int(np.argmax(gains))])

    def _examples(self, texts: Sequence[str]) -> Singles:
        forms = _Forms.of(texts, LogTokens.of(texts)).features(np.arange(len(texts)))
        return np.concatenate([self._space.sum_of([tokenize(text) for text in texts]), forms], axis=1)

    def _learn(self, others: Sequence[str], scores: Floats) -> None:
        if not others:
            scores[:] = 0
            return
        examples = self._examples(others).mean(axis=0, dtype=np.float64)
        for rows, moments in zip(self._halves, self._moments, strict=True):
            direction = moments.discriminant(examples)
            shift = moments.mean @ direction
            for start in range(0, len(rows), _SLAB):
                some = rows[start : start + _SLAB]
                scores[some] = _weighted(self._features(some), direction) - shift

    def _features(self, rows: "NDArray[np.int64]") -> Singles:
        return np.concatenate([self._space.sums[self._space.bags.of_row[rows]], self._forms.features(rows)], axis=1)

    def _divided(self, texts: Sequence[str]) -> "tuple[list[NDArray[np.int64]], list[_Moments]]":
        """Return the rows of each half, and the moments of the other."""
        half = np.fromiter((zlib.crc32(key(text).encode()) % 2 for text in texts), np.uint8, len(texts))
        halves = [stored(np.flatnonzero(half == number), len(texts)) for number in (0, 1)]
        return halves, [self._moments_of(halves[1]), self._moments_of(halves[0])]

    def _moments_of(self, rows: "NDArray[np.int64]") -> "_Moments":
        def block(start: int) -> tuple[Floats, Singles]:
            features = self._features(rows[start : start + _SLAB])
            return features.sum(axis=0, dtype=np.float64), features.T @ features

        size = self._space.sums.shape[1] + _WIDTH
        total, products = np.zeros(size), np.zeros((size, size))
        for sums, squares in iter_in_threads(block, range(0, len(rows), _SLAB)):
            total += sums
            products += squares
        mean = total / max(1, len(rows))
        return _Moments(mean, products / max(1, len(rows)) - np.outer(mean, mean))


@dataclass(frozen=True)
class _Moments:
    """Mean and covariance of the features of some queries."""

    mean: Floats
    covariance: Floats

    def discriminant(self, examples: Floats) -> Floats:
        """Return the direction that tells examples with this mean from these queries, by Fisher's discriminant."""
        spread = np.trace(self.covariance) / len(self.mean)
        ridge = np.eye(len(self.mean)) * (_RIDGE * spread if spread > 0 else 1.0)
        return np.asarray(np.linalg.solve(self.covariance + ridge, examples - self.mean), np.float64)


@numba.njit(nogil=True, cache=True)
def _weighted(features, direction):  # type: ignore[no-untyped-def]
    # In one order: the same for a text wherever it stands.
    sums = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        for k in range(features.shape[1]):
            sums[row] += features[row, k] * direction[k]
    return sums


@dataclass(frozen=True, eq=False)
class _Forms:
    """What queries look like, their words aside: how long they are, of what kind, how they are written.

    As their keys have it, not as they are written: two texts that differ in case or in forms of characters alone are
    one query, written as whoever came first wrote it, and that may be the one who completed the log. A query takes 18
    bytes here, and ten times as much as features.
    """

    lengths: "NDArray[np.uint8]"
    kinds: "NDArray[np.uint8]"
    written: Singles

    @classmethod
    def of(cls, texts: Sequence[str], tokens: LogTokens) -> "_Forms":
        """Look at every text."""
        lengths, kinds = np.minimum(tokens.lengths, _LONGEST).astype(np.uint8), np.empty(len(texts), np.uint8)
        written = room((len(texts), 4))
        kind = np.array([QUESTIONS.index(word) if word in QUESTIONS else -1 for word in tokens.words] or [-1])
        letters = np.array([len(word) for word in tokens.words] or [0])
        small = np.array([word in _SMALL for word in tokens.words] or [False])
        for start in range(0, len(texts), _SLAB):
            stop = min(start + _SLAB, len(texts))
            counts = tokens.lengths[start:stop]
            ids, begins = tokens.ids[tokens.starts[start] : tokens.starts[stop]], tokens.starts[start:stop]
            first = np.append(ids, 0)[begins - tokens.starts[start]]
            kinds[start:stop] = np.where(counts > 0, kind[first], -1) % (len(QUESTIONS) + 1)
            owner, words = np.repeat(np.arange(stop - start), counts), np.maximum(counts, 1)
            written[start:stop, 0] = np.bincount(owner, letters[ids], stop - start) / words / 10
            written[start:stop, 1] = np.bincount(owner, small[ids], stop - start) / words
            keys = map(key, texts[start:stop])
            written[start:stop, 2:] = [(one.endswith("?"), bool(_DIGIT.search(one))) for one in keys]
        return cls(lengths, kinds, written)

    def __len__(self) -> int:
        return len(self.lengths)

    def features(self, rows: "NDArray[np.int64]") -> Singles:
        """Return some queries as rows of numbers."""
        features, every = np.zeros((len(rows), _WIDTH), np.float32), np.arange(len(rows))
        features[every, self.lengths[rows]] = 1
        features[every, _LONGEST + 1 + self.kinds[rows].astype(np.int64)] = 1
        features[:, -4:] = self.written[rows]
        return features


_SMALL = "a an the of in on for to from with by at and or is are was be do does how what my your it".split()  # noqa: SIM905 (a sentence is easier to read)
_DIGIT = re.compile(r"\d")
