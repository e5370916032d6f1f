"""Static word vectors as an encoder: the vector of a text is a weighted sum of the vectors of its words.

Weights are smooth inverse frequencies, a / (a + p(w)), and what all texts have in common, the first principal component
of many of them, is removed: SIF. Nothing is learned from the texts that are encoded, because the vector of a text must
not depend on the texts beside it. Frequencies come from the order of the vocabulary, which most vectors have by falling
frequency, and the component from the entries of WordNet: both public, both computed once and kept with the vectors.

Reference: Arora, Liang, Ma. A Simple but Tough-to-Beat Baseline for Sentence Embeddings. ICLR 2017.
"""

import functools
import hashlib
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.bags import BagReader, Part, each_part, weighted_sums
from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.errors import InputError
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

Weighting = Literal["sif", "idf", "uniform"]
Floats = NDArray[np.float64]
Table = NDArray[np.float32]

_EVERY = 5  # one WordNet entry in five, some 23,500, settles the first component
_RECIPE = 1  # goes up with every change that moves a vector
# What is left of a text after the common component, relative to the text: below this it is rounding.
_NOTHING_LEFT = 1e-6
# How closely the order of the words has to follow WordNet's counts to be taken as one by frequency, and among how many.
_AGREES, _LEAST_WORDS = 0.2, 1000


class StaticEncoder(Encoder):
    """A weighted sum of word vectors without the component that all texts share, of length 1.

    ``weights``: ``"sif"``, a / (a + p(w)); ``"idf"``, -log p(w); or ``"uniform"``. ``components`` is how many of the
    first principal components are removed. ``corpus``, public texts, replaces the order of the words and WordNet as
    the source of p(w) and of the components. Words outside the vocabulary are skipped; a text without a known word has
    the vector 0, whose similarity is 0 to everything.

    >>> encoder = StaticEncoder("default")
    >>> one, two, three = encoder.encode(["a song of the sea", "music about an ocean", "tax return forms"])
    >>> bool(one @ two > one @ three)
    True
    """

    quick = True

    def __init__(
        self,
        vectors: "str | os.PathLike[str] | Vectors" = "default",
        *,
        weights: Weighting = "sif",
        a: float = 1e-3,
        components: int = 1,
        normalize: bool = True,
        corpus: Sequence[str] | None = None,
    ) -> None:
        """Load the vectors, by what `load_vectors` takes, and what goes with them."""
        vectors = vectors if isinstance(vectors, Vectors) else load_vectors(vectors)
        _check(vectors, weights, a, components)
        chances = _frequencies(vectors) if corpus is None else _counted(vectors, corpus)
        table = _weights(chances, weights, a)
        self.name = f"static:{vectors.name}"
        self.dimension = vectors.dimension
        self.word_vectors, self.weights, self.normalize = vectors, table, normalize
        self.components = _components(vectors, table, components, corpus)
        digest = hashlib.sha256(f"static {_RECIPE} {vectors.fingerprint} {normalize}\n".encode())
        digest.update(self.weights.tobytes())
        digest.update(self.components.tobytes())
        self.fingerprint = digest.hexdigest()
        if vectors.origin is not None and corpus is None:  # a corpus is not sent around: the encoder itself is, once
            options = {"weights": weights, "a": a, "components": components, "normalize": normalize}
            self.origin = functools.partial(_made_again, vectors.origin, **options)

    def variant(self, kind: Kind) -> str:
        """Return nothing: queries and documents are encoded alike."""
        return ""

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Encode distinct texts in their order."""
        directions = _unit_rows(self.components.astype(np.float64))

        def finish(part: Part) -> Piece:
            return part[0], self._finished(part[1], directions).astype(np.float32)

        yield from each_part(texts, self.word_vectors, self.weights, finish)

    def _finished(self, sums: Floats, directions: Floats) -> Floats:
        # Sums by row, no matrix product: its last bits would depend on how many rows there are.
        before = _norms(sums)
        for direction in directions:
            sums = sums - (sums * direction).sum(axis=1)[:, None] * direction
        after = _norms(sums)
        left = after > _NOTHING_LEFT * before
        scale = np.divide(1.0, after, out=np.zeros_like(after), where=left) if self.normalize else left.astype(float)
        rows: Floats = sums * scale[:, None]
        return rows


def _made_again(origin: Callable[[], Vectors], **options: Any) -> StaticEncoder:
    return StaticEncoder(origin(), **options)


def _check(vectors: Vectors, weights: str, a: float, components: int) -> None:
    if weights not in get_args(Weighting):
        raise InputError(f"words are weighted by {', '.join(get_args(Weighting))} (found {weights!r}).")
    if not (math.isfinite(a) and a > 0):
        raise InputError(f"a of a / (a + p) is a positive number (found {a!r}).")
    if not 0 <= components < vectors.dimension:
        raise InputError(
            f"of vectors of {vectors.dimension} coordinates, 0 to {vectors.dimension - 1} components can be removed "
            f"(found {components!r})."
        )


# --- how frequent words are -------------------------------------------------------------------------------------------


def _weights(chances: Floats, weighting: Weighting, a: float) -> Table:
    weights = np.ones(len(chances))
    if weighting == "sif":
        weights = a / (a + chances)
    elif weighting == "idf":
        weights = -np.log(chances)
    # Single precision hides the last bits, in which machines differ: the fingerprint is over these numbers.
    return weights.astype(np.float32)


def _frequencies(vectors: Vectors) -> Floats:
    """Return the probability of every word, by its rank (Zipf's law), or by WordNet where the order is another one."""

    def compute() -> Floats:
        from quipukit.wordnet.database import load_wordnet

        counts = load_wordnet().word_counts()
        counted = np.array([counts.get(word, 0) for word in vectors.words], np.float64)
        ranks = np.arange(1.0, len(vectors) + 1)
        common = counted > 0
        if common.sum() >= _LEAST_WORDS:
            agreement = -np.corrcoef(np.log(ranks[common]), np.log(counted[common]))[0, 1]
            if not agreement >= _AGREES:
                return _smoothed(counted)
        chances: Floats = 1 / (ranks * math.fsum(1 / ranks))
        return chances

    return vectors.derived_on_disk(f"static-frequencies-{_key(_wordnet_fingerprint())}", compute)


def _counted(vectors: Vectors, corpus: Iterable[str]) -> Floats:
    rows, _ = BagReader(vectors).read_all(corpus)
    return _smoothed(np.bincount(rows, minlength=len(vectors)).astype(np.float64))


def _smoothed(counts: Floats) -> Floats:
    # One more for every word: a word that was not counted is rare, but not impossible.
    smoothed: Floats = (counts + 1) / (counts + 1).sum()
    return smoothed


# --- what texts have in common ----------------------------------------------------------------------------------------


def _components(vectors: Vectors, weights: Table, count: int, corpus: Sequence[str] | None) -> Table:
    if count == 0:
        return np.empty((0, vectors.dimension), np.float32)
    if corpus is not None:
        return _principal(vectors, weights, count, corpus)

    def compute() -> Table:
        from quipukit.wordnet.database import load_wordnet

        texts = (text for _, text in itertools.islice(load_wordnet().entries(), 0, None, _EVERY))
        return _principal(vectors, weights, count, texts)

    key = _key(_wordnet_fingerprint(), hashlib.sha256(weights.tobytes()).hexdigest())
    return vectors.derived_on_disk(f"static-components-{count}-{key}", compute)


def _principal(vectors: Vectors, weights: Table, count: int, texts: Iterable[str]) -> Table:
    """Return the first right singular vectors of the matrix of texts, a text being the weighted mean of its words."""

    def compute(texts: Iterable[str]) -> Floats:
        gram = _gram(vectors, weights, texts)
        if not gram.any():  # another language, perhaps: then every word is a text
            gram = _gram(vectors, weights, vectors.words)
        directions: Floats = np.linalg.eigh(gram)[1]
        return directions

    (directions,) = in_threads(compute, [texts])  # where BLAS keeps to one thread, so that their number moves no bit
    first = directions[:, ::-1][:, :count].T
    # Of a direction and its opposite, the one whose largest coordinate is positive.
    largest = np.abs(first).argmax(axis=1)
    signs = np.sign(first[np.arange(count), largest])
    return np.ascontiguousarray(first * signs[:, None], np.float32)


def _gram(vectors: Vectors, weights: Table, texts: Iterable[str]) -> Floats:
    gram = np.zeros((vectors.dimension, vectors.dimension))
    for _, sums, words in weighted_sums(texts, vectors, weights):
        means = sums / np.maximum(words, 1)[:, None]
        gram += means.T @ means
    return gram


def _wordnet_fingerprint() -> str:
    from quipukit.wordnet.database import load_wordnet

    return load_wordnet().fingerprint


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join((str(_RECIPE), *parts)).encode()).hexdigest()[:16]


def _norms(rows: Floats) -> Floats:
    norms: Floats = np.sqrt((rows * rows).sum(axis=1))
    return norms


def _unit_rows(rows: Floats) -> Floats:
    return rows / _norms(rows)[:, None]
