"""The formula of BM25, in parts that an index in memory and one on disk compute with alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import InputError

Floats = NDArray[np.float64]

# Summands are multiples of 1 / SCALE: sums of hundreds of them are exact in any order.
SCALE = 2.0**40


@dataclass(frozen=True)
class Settings:
    """What an index is made with: the parameters of BM25, and how texts are divided into terms."""

    k1: float = 0.9
    b: float = 0.4
    stemmed: bool = True
    skip_stop_words: bool = True

    def __post_init__(self) -> None:
        if not (self.k1 >= 0 and 0 <= self.b <= 1):
            raise InputError(f"BM25 needs k1 >= 0 and b in [0, 1] (found k1={self.k1}, b={self.b}); try 0.9 and 0.4.")


def idf(per_term: NDArray[np.int64], documents: int) -> Floats:
    """Return the weight of terms by the number of documents that hold them."""
    weights: Floats = np.log(1 + (documents - per_term + 0.5) / (per_term + 0.5))
    return weights


def norms(lengths: NDArray[np.int64], mean: float, k1: float, b: float) -> Floats:
    """Return what a document of so many words adds to a term's frequency in the denominator."""
    return np.asarray(k1 * (1 - b + b * lengths / mean), np.float64)


def mean_length(words: int, documents: int) -> float:
    """Return the mean length of a document; 1 where all are empty."""
    return words / documents if words else 1.0


def summands(weights: Floats, frequencies: NDArray[np.int64], norm: Floats) -> Floats:
    """Return what postings add to the scores of their documents."""
    # In place: over millions of postings, new arrays for what is in between would take most of the time.
    values: Floats = np.multiply(weights, frequencies)
    values /= frequencies + norm
    values *= SCALE
    np.rint(values, out=values)
    values /= SCALE
    return values
