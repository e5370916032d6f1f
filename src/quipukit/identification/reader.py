"""Who reads a file: word vectors and a dictionary of the reader's own, not of the file's maker."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.lexical import is_stop_word
from quipukit.vectors.store import Vectors

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reader:
    """The word vectors by which features are computed: those of whoever reads the file, not of its maker."""

    vectors: Vectors
    wordnet: Any

    def places(self) -> NDArray[np.float32]:
        """Return unit vectors from the mean of all words, in principal axes, the main ones first."""

        def build() -> NDArray[np.float32]:
            axes = np.linalg.eigh(self.vectors.covariance)[1][:, ::-1]
            centered = (self.vectors.matrix - self.vectors.mean.astype(np.float32)) @ axes.astype(np.float32)
            lengths = np.linalg.norm(centered, axis=1, keepdims=True)
            return np.divide(centered, lengths, out=np.zeros_like(centered), where=lengths > 0)

        return self.vectors.derived("identification-places", build)

    def lengths(self) -> Floats:
        """Return the distance of every word from the mean, by the median of all."""

        def build() -> Floats:
            matrix = self.vectors.matrix - self.vectors.mean.astype(np.float32)
            lengths = np.linalg.norm(matrix, axis=1).astype(float)
            return lengths / (np.median(lengths) or 1.0)

        return self.vectors.derived("identification-lengths", build)

    @functools.cached_property
    def lemmas(self) -> frozenset[str]:
        """Return the words that WordNet lists."""
        return frozenset(self.wordnet.lemmas())

    def facts(self, words: Sequence[str]) -> tuple[Rows, Floats, Floats]:
        """Return the row of every word (-1 for none), whether it is a stop word, and whether WordNet lists it."""
        known, lemmas = self._facts, self.lemmas
        for word in words:
            if word not in known:
                known[word] = (self.vectors.row(word), is_stop_word(word), word in lemmas)
        table = np.array([known[word] for word in words], np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1].astype(float), table[:, 2].astype(float)

    @functools.cached_property
    def _facts(self) -> dict[str, tuple[int, bool, bool]]:
        return {}
