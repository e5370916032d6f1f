"""Words as directions: centered vectors of length 1, for attackers that compare what was sent with a log word by word.

A word without a vector is a direction of its own, at right angles to all others: it is like itself and nothing else. So
an unknown word that was sent unchanged is found, and one that nobody sent costs nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Sent
from quipukit.attackers.tokens import LogTokens
from quipukit.text import tokenize
from quipukit.vectors.store import Vectors

Singles = NDArray[np.float32]

# Texts agree on a number of words if this share of them has it: mechanisms that replace words one by one keep it, and
# punctuation moves single texts; of mechanisms that write new queries it says nothing.
_AGREEMENT = 0.5


class WordSpace:
    """The directions of the words of a log; ``whitened`` makes all directions equally common."""

    def __init__(self, vectors: Vectors, tokens: LogTokens, whitened: bool = False) -> None:
        """Look up every word of the log."""
        self._vectors = vectors
        self._map = whitening(vectors) if whitened else None
        self.tokens = tokens
        self.matrix = self.directions(tokens.words)
        self.known = self.matrix.any(axis=1)

    def directions(self, words: Sequence[str]) -> Singles:
        """Return the direction of every word; 0 for a word without a vector."""
        found = np.zeros((len(words), self._vectors.dimension), np.float32)
        rows = np.fromiter((self._vectors.row(word) for word in words), np.int64, len(words))
        here = np.flatnonzero(rows >= 0)
        for start in range(0, len(here), 16_384):
            some = here[start : start + 16_384]
            centered = self._vectors.matrix[rows[some]] - self._vectors.mean
            found[some] = unit(centered if self._map is None else centered @ self._map)
        return found


def whitening(vectors: Vectors) -> NDArray[np.float64]:
    """Return the matrix that makes the covariance of the vectors the identity; directions without spread are left."""

    def build() -> NDArray[np.float64]:
        values, directions = np.linalg.eigh(vectors.covariance)
        scale = np.where(values > values.max() * 1e-9, 1 / np.sqrt(np.maximum(values, values.max() * 1e-9)), 0)
        product: NDArray[np.float64] = directions * scale
        return product

    return vectors.derived("whitening", build)


def unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return rows of length 1; those of length 0 stay."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


@dataclass(frozen=True)
class Slots:
    """What was sent, position by position: the words that stood there, with how often each did.

    ``length`` is the number of words that most texts have; texts with another number have no positions to compare.
    """

    length: int
    counts: "list[Counter[str]]"
    agreed: bool  # whether the texts agree on the number of words

    @classmethod
    def of(cls, sent: Sent) -> "Slots":
        """Divide texts into words."""
        texts = [tokenize(text) for text in sent.texts]
        lengths = Counter(map(len, texts))
        # Of several numbers that are equally common the smallest: the same whatever the order of the texts.
        length = min(lengths, key=lambda number: (-lengths[number], number)) if lengths else 0
        kept = [words for words in texts if len(words) == length]
        columns = [Counter(column) for column in zip(*kept, strict=True)]
        return cls(length, columns, bool(texts) and len(kept) >= _AGREEMENT * len(texts))
