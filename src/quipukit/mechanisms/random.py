"""Random: words that have nothing to do with the query, the lower reference of every evaluation."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, LocalDP
from quipukit.mechanisms.sampling import Place, Sampling
from quipukit.mechanisms.words import uniform_rows


@dataclass(frozen=True, kw_only=True)
class Random(Sampling):
    """Send words drawn uniformly from the vocabulary, as many as the query has.

    Guarantee: 0-DP per word; only the number of words is released. With ``oov="drop"`` that number tells how many
    words are unknown, so it holds among the words of the vocabulary.

    >>> from quipukit.vectors.store import Vectors
    >>> Random(vectors=Vectors(["only"], [[1.0]])).obfuscate("two words")
    ['only only']
    """

    name: ClassVar[str] = "Random"
    summary: ClassVar[str] = "words drawn uniformly: the lower reference"
    shares_work: ClassVar[bool] = True
    strategy: ClassVar[str] = "reference"

    @property
    def promise(self) -> Guarantee:
        return LocalDP(0, "words of the vocabulary" if self.oov == "drop" else "all words")

    @property
    def neighborhood_key(self) -> Hashable:
        return "none"

    def neighborhood(self, place: Place) -> None:
        return None

    def law(self, near: None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.arange(len(self.vectors)), np.zeros(len(self.vectors))

    def sample(self, near: None, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        return uniform_rows(uniforms, len(self.vectors))
