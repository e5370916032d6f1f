"""Passages that are made by a rule: Zipf words, realistic lengths, planted relevant ones, a fixed seed, any number."""

import hashlib
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.collections.base import Collection, Document
from quipukit.lexical import STOP_WORDS

Ranks = NDArray[np.int64]

TOPICS = 43
# One passage in so many has the words of a topic, and is relevant for it.
PLANTED = 1_000
# Of MS MARCO's passages: mean words, and the spread of their logarithm.
WORDS, SPREAD = 56, 0.45
# Zipf's law in two parts, as in English: 1 / rank for common words, steeper for rare ones.
COMMON, VOCABULARY, EXPONENT, OFFSET = 6_000, 20_000_000, 1.65, 2.7
_BLOCK = 10_000
_TABLE = 200_000
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol")]
_FREQUENT = sorted(STOP_WORDS, key=lambda word: (len(word), word))


class Passages(Collection):
    """Generated passages; passage number n is the same in a collection of any size."""

    def __init__(self, size: int, seed: int = 1) -> None:
        self.size, self.seed, self.name = size, seed, f"generated-{size}"

    @property
    def fingerprint(self) -> str:
        """Return a hash over what the passages are made from."""
        return hashlib.sha256(f"generated 1 {self.size} {self.seed}".encode()).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Make the passages, a block at a time; their docnos are numbers, whose order as texts is another one."""
        table = np.array([word(rank) for rank in range(_TABLE)], object)
        topics = self._topics()
        for start in range(0, self.size, _BLOCK):
            lengths, ranks = self._block(start)
            words = table[np.minimum(ranks, _TABLE - 1)].tolist()
            for place in np.flatnonzero(ranks >= _TABLE).tolist():
                words[place] = word(int(ranks[place]))
            ends = np.cumsum(lengths).tolist()
            for number, length, end in zip(range(start, self.size), lengths.tolist(), ends, strict=False):
                text = " ".join(words[end - length : end])
                yield str(number), text if number % PLANTED else f"{topics[number // PLANTED % TOPICS]} {text}"

    def __len__(self) -> int:
        return self.size

    def queries(self) -> pd.DataFrame:
        """Return the topics: three to seven words, none of them very frequent."""
        return pd.DataFrame({"qid": [str(topic) for topic in range(TOPICS)], "query": self._topics()})

    def qrels(self) -> pd.DataFrame:
        """Return the planted passages of every topic."""
        numbers = range(0, self.size, PLANTED)
        rows = [(str(number // PLANTED % TOPICS), str(number), 1) for number in numbers]
        return pd.DataFrame(rows, columns=["qid", "docno", "relevance"])

    def _topics(self) -> list[str]:
        rng = np.random.default_rng([self.seed, 0, TOPICS])
        return [" ".join(word(int(rank)) for rank in rng.integers(300, 50_000, 3 + n % 5)) for n in range(TOPICS)]

    def _block(self, start: int) -> tuple[Ranks, Ranks]:
        rng = np.random.default_rng([self.seed, 1, start // _BLOCK])
        mean = np.log(WORDS) - SPREAD**2 / 2
        lengths = np.maximum(1, np.rint(rng.lognormal(mean, SPREAD, _BLOCK))).astype(np.int64)
        return lengths, _zipf(rng, int(lengths.sum()))


def _zipf(rng: np.random.Generator, count: int) -> Ranks:
    """Draw ranks from 0 by the inverse of the continuous law."""
    power = 1 - EXPONENT
    head = np.log((COMMON + OFFSET) / OFFSET)
    last = (VOCABULARY / COMMON) ** power
    mass = rng.random(count) * (head + (1 - last) / -power)
    common = OFFSET * np.exp(np.minimum(mass, head)) - OFFSET
    rare = COMMON * (1 + np.maximum(mass - head, 0) * power) ** (1 / power)
    return np.minimum(np.where(mass < head, common, rare).astype(np.int64), VOCABULARY - 1)


def word(rank: int) -> str:
    """Return the word of a rank: stop words first, then words of two syllables or more.

    >>> word(0), word(1000), word(123_456)
    ('a', 'nobin', 'lansinbin')
    """
    if rank < len(_FREQUENT):
        return _FREQUENT[rank]
    rank += len(_SYLLABLES) - len(_FREQUENT)  # a single syllable may be a stop word
    parts = []
    while rank:
        rank, syllable = divmod(rank, len(_SYLLABLES))
        parts.append(_SYLLABLES[syllable])
    return "".join(parts)
