"""Text that is made by a rule: passages and queries of Zipf words, realistic lengths, planted relevant passages.

Every number comes from a hash of the seed, the passage and the place in it, so that any passage can be made on its own.
"""

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.collections.base import Collection, Document
from quipukit.lexical import STOP_WORDS
from quipukit.vectors.store import Vectors

Ranks = NDArray[np.int64]
Keys = NDArray[np.uint64]

TOPICS = 43
# One passage in so many has the words of a topic, and is relevant for it.
PLANTED = 1_000
# Of MS MARCO's passages: mean words, and the spread of their logarithm.
WORDS, SPREAD = 56, 0.45
# Zipf's law in two parts, as in English: 1 / rank for common words, steeper for rare ones.
COMMON, VOCABULARY, EXPONENT, OFFSET = 6_000, 20_000_000, 1.65, 2.7
# Words that have a vector; topics are made of those that are not among the first.
KNOWN, FREQUENT, DIMENSION = 50_000, 300, 100
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
        return hashlib.sha256(f"generated 2 {self.size} {self.seed}".encode()).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Make the passages, a block at a time; their docnos are numbers, whose order as texts is another one."""
        for start in range(0, self.size, _BLOCK):
            numbers = np.arange(start, min(start + _BLOCK, self.size))
            yield from zip(map(str, numbers.tolist()), self._made(numbers), strict=True)

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Make some of the passages."""
        found: dict[str, str] = {}
        known = [docno for docno in dict.fromkeys(docnos) if docno.isdecimal() and int(docno) < self.size]
        for start in range(0, len(known), _BLOCK):
            some = known[start : start + _BLOCK]
            found |= zip(some, self._made(np.array(some, np.int64)), strict=True)
        return found

    def __len__(self) -> int:
        return self.size

    def queries(self) -> pd.DataFrame:
        """Return the topics: three to seven words, none of them very frequent."""
        return pd.DataFrame({"qid": [str(topic) for topic in range(TOPICS)], "query": self._topics})

    def qrels(self) -> pd.DataFrame:
        """Return the planted passages of every topic."""
        numbers = range(0, self.size, PLANTED)
        rows = [(str(number // PLANTED % TOPICS), str(number), 1) for number in numbers]
        return pd.DataFrame(rows, columns=["qid", "docno", "relevance"])

    @functools.cached_property
    def _topics(self) -> list[str]:
        rng = np.random.default_rng([self.seed, 0, TOPICS])
        return [" ".join(word(int(rank)) for rank in rng.integers(FREQUENT, KNOWN, 3 + n % 5)) for n in range(TOPICS)]

    def _made(self, numbers: Ranks) -> Iterator[str]:
        mean = np.log(WORDS) - SPREAD**2 / 2
        one, other = (_uniform(self.seed, part, numbers) for part in (1, 2))
        normal = np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * other)
        lengths = np.maximum(1, np.rint(np.exp(mean + SPREAD * normal))).astype(np.int64)
        texts = _texts(_zipf(_uniform(self.seed, 3, *_places(numbers, lengths))), lengths)
        for number, text in zip(numbers.tolist(), texts, strict=True):
            yield text if number % PLANTED else f"{self._topics[number // PLANTED % TOPICS]} {text}"


def log_queries(size: int, seed: int = 1) -> Iterator[str]:
    """Make the queries of a log: one to nine words, which are drawn as those of passages, but have a vector."""
    for start in range(0, size, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, size))
        lengths = (1 + np.minimum(8, -2.2 * np.log1p(-_uniform(seed, 4, numbers)) + 1)).astype(np.int64)
        ranks = _zipf(_uniform(seed, 5, *_places(numbers, lengths)))
        # Half of the frequent words, most of them stop words, are replaced: queries have few.
        again = _uniform(seed, 6, *_places(numbers, lengths))
        spread = (FREQUENT + again * (KNOWN - FREQUENT)).astype(np.int64)
        yield from _texts(np.where((ranks >= KNOWN) | ((ranks < FREQUENT) & (again < 0.5)), spread, ranks), lengths)


def word_vectors(seed: int = 1) -> Vectors:
    """Make vectors of the most frequent words: around five hundred centers, so that words have neighbors."""
    words = list(dict.fromkeys(map(word, range(KNOWN))))  # a word of two syllables may be a stop word
    rng = np.random.default_rng([seed, 7])
    centers = rng.standard_normal((500, DIMENSION))
    matrix = centers[rng.integers(0, len(centers), len(words))] + 0.7 * rng.standard_normal((len(words), DIMENSION))
    return Vectors(words, matrix.astype(np.float32), name=f"generated-{KNOWN}")


def _places(numbers: Ranks, lengths: Ranks) -> tuple[Ranks, Ranks]:
    """Return for every word the number of its text, and its place there."""
    ends = np.cumsum(lengths)
    return np.repeat(numbers, lengths), np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def _uniform(seed: int, part: int, *numbers: Ranks) -> NDArray[np.float64]:
    """Return numbers in [0, 1) that are hashes of others: the finalizer of SplitMix64, once for each of them."""
    state = np.full(len(numbers[0]), np.uint64(1_000_003 * seed + part))
    for one in numbers:
        state = (state + one.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)) * 2.0**-53


def _zipf(uniforms: NDArray[np.float64]) -> Ranks:
    """Turn uniform numbers into ranks from 0, by the inverse of the continuous law."""
    power = 1 - EXPONENT
    head = np.log((COMMON + OFFSET) / OFFSET)
    last = (VOCABULARY / COMMON) ** power
    mass = uniforms * (head + (1 - last) / -power)
    common = OFFSET * np.exp(np.minimum(mass, head)) - OFFSET
    rare = COMMON * (1 + np.maximum(mass - head, 0) * power) ** (1 / power)
    return np.minimum(np.where(mass < head, common, rare).astype(np.int64), VOCABULARY - 1)


def _texts(ranks: Ranks, lengths: Ranks) -> Iterator[str]:
    words = _table()[np.minimum(ranks, _TABLE - 1)].tolist()
    for place in np.flatnonzero(ranks >= _TABLE).tolist():
        words[place] = word(int(ranks[place]))
    ends = np.cumsum(lengths).tolist()
    for length, end in zip(lengths.tolist(), ends, strict=True):
        yield " ".join(words[end - length : end])


@functools.cache
def _table() -> NDArray[np.object_]:
    return np.array([word(rank) for rank in range(_TABLE)], object)


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
