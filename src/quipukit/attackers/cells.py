"""The law of a mechanism that adds noise, estimated word by word: how often does the noise lead from x to y?

P(y | x) is the probability that phi(x) + Z lies in the cell of y. R draws of Z, the same for every x, estimate it: the
products of the draws with the vocabulary are computed once, and every word costs one scan of them. An output that no
draw reached counts as 1 / (R + |V|). It is for few words: those of the best candidates by the stand-in
(`quipukit.attackers.noiselaws`).

Of NoisyRANTEXT a draw gives a list, and the probabilities of its words are known: these are what is averaged.
"""

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Rows
from quipukit.jit import numba
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.mechanisms.perturbation import Perturbation, draw_noise
from quipukit.threads import in_threads
from quipukit.vectors.nearest import top_k

_SEED = 20_240_618
_TILE = 512


class Cells:
    """Estimates of P(y | x) for one mechanism, by R draws."""

    def __init__(self, sites: LogSites, mechanism: Perturbation | NoisyRANTEXT, draws: int) -> None:
        """Draw the noise, and multiply it with the vocabulary."""
        vectors = sites.vectors
        drawn = draw_noise(np.random.default_rng(_SEED), draws, vectors.dimension)
        self._coins = drawn.coins
        self._sites, self._mechanism = sites, mechanism
        self._known: dict[int, tuple[Rows, Floats]] = {}
        if isinstance(mechanism, NoisyRANTEXT):
            self._noise = mechanism.noise(drawn)
            return
        self._noise = (drawn.radii / mechanism.epsilon)[:, None] * mechanism.stretch(drawn.directions)
        matrix = np.asarray(vectors.matrix)
        single = self._noise.astype(np.float32)
        self._products = np.concatenate(
            [single @ matrix[start : start + _TILE].T for start in range(0, len(matrix), _TILE)], axis=1
        )

    def log_likelihood(self, rows: Rows, counts: Floats, columns: Rows) -> Floats:
        """Return the sums of ln P over outputs (``counts``: positions x rows) for some columns."""
        new = [column for column in columns.tolist() if column not in self._known]
        self._known.update(zip(new, in_threads(self._law, new), strict=True))
        floor = 1 / (len(self._noise) + len(self._sites.vectors))
        table = np.full((len(rows), len(columns)), floor)
        for number, column in enumerate(columns.tolist()):
            outputs, shares = self._known[column]
            places = np.searchsorted(outputs, rows)
            hit = places < len(outputs)
            hit[hit] = outputs[places[hit]] == rows[hit]
            table[hit, number] = np.maximum(shares[places[hit]], floor)
        likelihood: Floats = counts @ np.log(table)
        return likelihood

    def reached(self, column: int) -> Rows:
        """Return the outputs that some draw leads to from the word of a column."""
        return self._law(column)[0]

    def _law(self, column: int) -> tuple[Rows, Floats]:
        """Return the outputs that the draws reached from a word, and how often each was."""
        vectors = self._sites.vectors
        point = self._sites.places(np.array([column]))[0]
        if isinstance(self._mechanism, NoisyRANTEXT):
            return self._law_of_lists(self._mechanism, point)
        offsets = (vectors.matrix @ point.astype(np.float32)) - vectors.half_norms.astype(np.float32)
        found, best = _two_best(offsets, self._products)
        noisy = ((point + self._noise) ** 2).sum(axis=1)
        distance = np.sqrt(np.maximum(noisy[:, None] - 2 * best.astype(np.float64), 0.0))
        outputs, counts = np.unique(self._mechanism.choose(found, distance, self._coins), return_counts=True)
        return outputs, counts / len(self._noise)

    def _law_of_lists(self, mechanism: NoisyRANTEXT, point: Floats) -> tuple[Rows, Floats]:
        """Return the words of all lists, and the mean of their probabilities."""
        vectors = self._sites.vectors
        lists = top_k(vectors.matrix, vectors.half_norms, point + self._noise, min(mechanism.k, len(vectors)))
        weights = mechanism.list_weights(lists, point[None])
        weights /= weights.sum(axis=1, keepdims=True) * len(lists)
        outputs, places = np.unique(lists, return_inverse=True)
        return outputs, np.bincount(places.ravel(), weights.ravel()).astype(np.float64)


@numba.njit(nogil=True, cache=True)
def _two_best(offsets, products):  # type: ignore[no-untyped-def]
    count, words = products.shape
    found = np.full((count, 2), -1, np.int64)
    best = np.full((count, 2), -np.inf, np.float32)
    for i in range(count):
        first, second = np.float32(-np.inf), np.float32(-np.inf)
        for j in range(words):
            score = offsets[j] + products[i, j]
            if score > second:
                if score > first:
                    second, found[i, 1] = first, found[i, 0]
                    first, found[i, 0] = score, j
                else:
                    second, found[i, 1] = score, j
        best[i, 0], best[i, 1] = first, second
    return found, best


def rescored(scores: Floats, queries: Rows, refined: Floats, highest: float | None = None) -> Floats:
    """Return scores in which some queries stand before all others, by scores of their own.

    ``highest`` is the highest score of all others (`highest_of_others`), where it is known.
    """
    new = scores.copy()
    if highest is None:
        highest = highest_of_others(scores, queries)
    lowest = highest if np.isfinite(highest) else float(refined.min())
    new[queries] = lowest + 1 + refined - refined.min()
    return new


def highest_of_others(scores: Floats, queries: Rows) -> float:
    """Return the highest score but for some queries; minus infinity where there are no others."""
    return float(np.delete(scores, queries).max(initial=-np.inf))
