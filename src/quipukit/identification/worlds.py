"""Worlds to simulate files in: queries that might have been asked, and word vectors that might have been used.

Who reads a file rarely knows the vectors of its maker. World 0 has those that are thought of, by default the built-in
ones. Every other world distorts them: fewer words, some under names that the reader has never seen (a vocabulary other
than the reader's), a random projection to fewer dimensions, and another scale. How far features of one setting differ
between these worlds is how far they may differ in a file of somebody else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.seeds import keyed
from quipukit.text import tokenize
from quipukit.vectors.nearest import top_k
from quipukit.vectors.store import Vectors

SEED = 20_261
_PROBES = 400  # words whose nearest neighbor is looked for to find the scale of vectors
_LETTERS = np.array(list("bcdfghjklmnpqrstvwxz"))


@dataclass(frozen=True)
class Distortion:
    """How a world's vectors differ: how many words and dimensions, which share of names is unknown, and the scale."""

    words: int
    dimension: int
    renamed: float
    scale: float


# Sizes and dimensions from a small pack to one as large as can be simulated in seconds; scales around the given one.
DISTORTIONS = (
    Distortion(8_000, 100, 0.3, 1.0),
    Distortion(12_000, 300, 0.6, 0.85),
    Distortion(6_000, 200, 0.0, 1.15),
    Distortion(16_000, 300, 0.4, 1.3),
    Distortion(10_000, 300, 0.2, 1.0),
)


@dataclass(frozen=True, eq=False)
class World:
    """Queries and vectors for simulated files; ``number`` 0 is the one with the vectors as they are."""

    number: int
    queries: dict[str, str]
    vectors: Vectors


def make_worlds(log: Sequence[str], vectors: Vectors, size: int, others: int) -> list[World]:
    """Return world 0 and ``others`` more, with ``size`` queries each, no query in two of them where the log allows."""
    rng = keyed(SEED, "queries")
    usable = [text for text in log if tokenize(text)]
    order = [int(row) for row in rng.permutation(len(usable))]
    worlds = []
    for number in range(others + 1):
        rows = [order[(number * size + at) % len(order)] for at in range(size)]
        queries = {f"{number}-{at}": usable[row] for at, row in enumerate(rows)}
        own = (
            vectors
            if number == 0
            else distort(vectors, DISTORTIONS[(number - 1) % len(DISTORTIONS)], number, queries.values())
        )
        worlds.append(World(number, queries, own))
    return worlds


def distort(vectors: Vectors, how: Distortion, number: int, texts: Iterable[str]) -> Vectors:
    """Return distorted vectors that still have the words of the given texts, under their own names."""
    rng = keyed(SEED, "vectors", number)
    asked = {vectors.row(word) for text in texts for word in tokenize(text, vectors.__contains__)} - {-1}
    others = np.setdiff1d(np.arange(len(vectors)), np.fromiter(asked, np.int64, len(asked)))
    more = min(len(others), max(0, how.words - len(asked)))
    chosen = rng.choice(others, more, replace=False)
    rows = np.sort(np.concatenate([np.fromiter(asked, np.int64, len(asked)), chosen]))
    renamed = set(chosen[: int(how.renamed * more)].tolist())
    names = iter(_unseen_names(len(renamed), rng, vectors))
    words = [next(names) if int(row) in renamed else vectors.words[row] for row in rows]
    dimension = min(how.dimension, vectors.dimension)
    matrix = vectors.matrix[rows].astype(float)
    if dimension < vectors.dimension:
        matrix = matrix @ (rng.standard_normal((vectors.dimension, dimension)) / np.sqrt(dimension))
    distorted = Vectors(words, matrix, name=f"{vectors.name} distorted {number}")
    wanted = how.scale * scale_of(vectors)
    factor = wanted / (scale_of(distorted) or wanted or 1.0)
    return Vectors(words, factor * matrix, name=distorted.name)


def _unseen_names(number: int, rng: np.random.Generator, vectors: Vectors) -> list[str]:
    """Return distinct words of letters that no vocabulary is likely to have, and this one does not."""
    names: dict[str, None] = {}
    while len(names) < number:
        letters = _LETTERS[rng.integers(len(_LETTERS), size=(number, 8))]
        names.update(dict.fromkeys(word for word in map("".join, letters) if word not in vectors))
    return list(names)[:number]


def scale_of(vectors: Vectors) -> float:
    """Return the median distance to the nearest word by sqrt(dimension + 1): what an epsilon means here."""

    def build() -> float:
        rows = keyed(SEED, "scale").permutation(len(vectors))[:_PROBES]
        points = vectors.matrix[rows].astype(float)
        near: NDArray[np.int64] = top_k(vectors.matrix, vectors.half_norms, points, min(2, len(vectors)))
        distance = np.linalg.norm(vectors.matrix[near[:, -1]].astype(float) - points, axis=1)
        return float(np.median(distance) / np.sqrt(vectors.dimension + 1))

    return vectors.derived("identification-scale", build)
