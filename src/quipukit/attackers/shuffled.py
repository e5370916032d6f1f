"""The likelihood of texts whose words come in a random order, of which some may stand for anchors (``length``).

Given a query, a text is a random permutation of the outputs of its words: its likelihood is the mean over all ways to
assign the words of the text to those of the query, a permanent divided by L!. Where a query was filled up with anchors
they are words like any other, so that queries of all lengths of a bin compete; of a query longer than the largest bin a
text holds a random part, and the mean goes over all assignments to some of its words.

All queries are first scored as bags: every word of a text comes from any word of the query, with equal probability. The
best of them get the likelihood itself, by a sum over subsets that adds positive terms only, and stand before the rest.
Texts of more than 16 words get their best assignment instead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.logsites import Floats, LogSites, Observed, Rows
from quipukit.attackers.tables import WordLaw
from quipukit.jit import numba
from quipukit.mechanisms.wordoptions import Bins

_REFINED, _LEAST = 1000, 50  # candidates that get the likelihood itself, at most and at least
_STEPS = 150_000_000  # additions spent on one set of texts
_EXACT = 16  # words up to which all assignments are added up
_CHUNK = 4096
_FLOOR = 1e-37  # what counts as the probability of what cannot come out, beside that of the likeliest word
_SLIP = 50.0  # what it costs below the least probable word, in nats

Tables = Callable[[Rows], Floats]


@dataclass(frozen=True, eq=False)
class Bag:
    """What was sent: text j has the words ``rows[words[j]]``, each of ``rows`` occurs ``counts`` times in all.

    A word that the mechanism cannot send (-1) says nothing about any query.
    """

    length: int
    rows: Rows
    words: NDArray[np.int64]
    counts: Floats

    @classmethod
    def of(cls, sites: LogSites, texts: Sequence[str], length: int) -> "Bag":
        """Keep the texts of one length."""
        divided = [words for words in (text.split() for text in texts) if len(words) == length]
        numbers = np.array([[sites.output(word) for word in words] for words in divided], np.int64)
        numbers = numbers.reshape(len(divided), length)
        rows, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        words = np.where(numbers >= 0, np.searchsorted(rows, numbers), -1)
        return cls(length, rows, words, counts.astype(np.float64))

    @property
    def one_by_one(self) -> Observed:
        """Return the distinct words as if each had stood at a position of its own, once."""
        size = len(self.rows)
        return Observed(size, self.rows, np.eye(size), np.zeros(size), 0)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The queries that can have given texts of some length, as rows of ``local`` numbers of columns.

    A row ends in -1 where it is shorter than the longest; anchors are columns like any other.
    """

    queries: Rows
    columns: Rows
    local: Rows

    @classmethod
    def of(cls, sites: LogSites, length: int, bins: Bins | None) -> "Candidates":
        """Return the queries of one length, or of all lengths that a bin holds, filled up."""
        if bins is None:
            group = sites.of_length(length)
            return cls(group.queries, group.columns, group.local)
        low, high = bins.held_by(length)
        queries = np.flatnonzero((sites.lengths >= low) & (sites.lengths <= (np.inf if high is None else high)))
        own = sites.lengths[queries]
        width = int(max(length, own.max(initial=0)))
        places = np.arange(width)
        ids = np.where(places < length, sites.anchor, -1) * np.ones((len(queries), 1), np.int64)
        inside = places < own[:, None]
        ids[inside] = sites.ids[(sites.starts[queries][:, None] + places)[inside]]
        columns, local = np.unique(ids, return_inverse=True)
        absent = int(len(columns) > 0 and columns[0] < 0)
        return cls(queries, columns[absent:].astype(np.int64), local.reshape(ids.shape) - absent)


def distance_to_bin(lengths: Rows, length: int, bins: Bins | None) -> Rows:
    """Return by how many words each query misses what was sent: 0 for those that can have given it."""
    if bins is None:
        return np.abs(lengths - length)
    low, high = bins.held_by(length)
    above = np.zeros_like(lengths) if high is None else lengths - high
    return np.maximum(np.maximum(low - lengths, above), 0)


def log_table(law: WordLaw, bag: Bag, columns: Rows) -> Floats:
    """Return ln P(y | x) of the distinct words under some columns; what cannot come out is very unlikely."""
    table = law.table(bag.one_by_one, columns)
    impossible = table.violations > 0
    if not impossible.any():
        return table.log_likelihood
    possible = np.where(impossible, np.inf, table.log_likelihood)
    least = possible.min(axis=1, keepdims=True, initial=np.inf)
    return np.where(impossible, np.where(np.isfinite(least), least, 0.0) - _SLIP, table.log_likelihood)


def bag_likelihoods(law: WordLaw, bag: Bag, candidates: Candidates) -> Floats:
    """Return for every candidate the sum over all words of ln mean_i P(y | x_i)."""
    table = np.empty((len(candidates.columns), len(bag.rows)), np.float32)
    for start in range(0, len(table), _CHUNK):
        table[start : start + _CHUNK] = log_table(law, bag, candidates.columns[start : start + _CHUNK]).T
    tops = table.max(axis=0, initial=-np.inf)
    if not table.size:
        return np.zeros(len(candidates.queries))
    table -= tops
    np.exp(table, out=table)
    scores: Floats = _bags(table, candidates.local, bag.counts) + float(bag.counts @ tops.astype(np.float64))
    return scores


def refined(bag: Bag, candidates: Candidates, most: int = _REFINED) -> int:
    """Return how many candidates get the likelihood itself."""
    width = candidates.local.shape[1]
    if bag.length > _EXACT:
        return min(most, _LEAST)
    square = bag.length * 2 ** max(0, bag.length - 1)
    cost = max(1, len(bag.words)) * (square if width == bag.length else width * square)
    return max(_LEAST, min(most, _STEPS // max(1, cost)))


def order_likelihoods(bag: Bag, candidates: Candidates, chosen: Rows, table_of: Tables) -> Floats:
    """Return ln P of all texts for some of the candidates; ``table_of`` gives ln P(y | x) for columns."""
    local = candidates.local[chosen]
    numbers, inverse = np.unique(local, return_inverse=True)
    absent = int(len(numbers) > 0 and numbers[0] < 0)
    local = inverse.reshape(local.shape) - absent
    table = np.ascontiguousarray(table_of(candidates.columns[numbers[absent:]]), np.float64)
    if bag.length > _EXACT:
        return np.array([_best_assignments(table, row[row >= 0], bag.words) for row in local])
    likelihoods: Floats = _assignments(table, local, bag.words, 600.0 / max(4, bag.length))
    return likelihoods


def impossible_words(law: WordLaw, bag: Bag, candidates: Candidates) -> Floats:
    """Return for every candidate how many of the words that were sent cannot come from any of its own."""
    possible = (law.table(bag.one_by_one, candidates.columns).violations == 0).T
    missing: Floats = _missing(np.ascontiguousarray(possible), candidates.local, bag.counts)
    return missing


def _best_assignments(table: Floats, columns: Rows, texts: "NDArray[np.int64]") -> float:
    from scipy.optimize import linear_sum_assignment

    total = 0.0
    for words in texts:
        known = words[words >= 0]
        costs = table[known][:, columns]
        rows, places = linear_sum_assignment(costs, maximize=True)
        total += float(costs[rows, places].sum())
    ways = math.lgamma(len(columns) + 1) - math.lgamma(max(0, len(columns) - texts.shape[1]) + 1)
    return total - ways * len(texts)


@numba.njit(nogil=True, cache=True)
def _bags(table, local, counts):  # type: ignore[no-untyped-def]
    scores = np.zeros(local.shape[0])
    sums = np.empty(table.shape[1], np.float32)
    for query in range(local.shape[0]):
        sums[:] = 0
        number = 0
        for i in range(local.shape[1]):
            if local[query, i] >= 0:
                sums += table[local[query, i]]
                number += 1
        for word in range(sums.shape[0]):
            scores[query] += counts[word] * np.log(max(sums[word] / number, _FLOOR))
    return scores


@numba.njit(nogil=True, cache=True)
def _missing(possible, local, counts):  # type: ignore[no-untyped-def]
    missing = np.zeros(local.shape[0])
    for query in range(local.shape[0]):
        for word in range(counts.shape[0]):
            reached = False
            for i in range(local.shape[1]):
                if local[query, i] >= 0 and possible[local[query, i], word]:
                    reached = True
            if not reached:
                missing[query] += counts[word]
    return missing


@numba.njit(nogil=True, cache=True)
def _assignments(table, local, texts, reach):  # type: ignore[no-untyped-def]
    length = texts.shape[1]
    totals = np.zeros(local.shape[0])
    sums = np.empty(1 << length)
    chances = np.empty((length, local.shape[1]))
    taken = np.zeros(1 << length, np.int64)
    for used in range(1, 1 << length):
        taken[used] = taken[used >> 1] + (used & 1)
    for query in range(local.shape[0]):
        number = 0
        while number < local.shape[1] and local[query, number] >= 0:
            number += 1
        ways = 0.0
        for k in range(length):
            ways += np.log(number - k)
        for text in range(texts.shape[0]):
            scale = 0.0
            for j in range(length):
                if texts[text, j] < 0:  # a word that nobody can have sent
                    chances[j, :number] = 1.0
                    continue
                top = -np.inf
                for i in range(number):
                    top = max(top, table[texts[text, j], local[query, i]])
                for i in range(number):
                    # Not so small that a product of some of them would round to 0.
                    chances[j, i] = np.exp(max(table[texts[text, j], local[query, i]] - top, -reach))
                scale += top
            sums[:] = 0.0
            sums[0] = 1.0
            if number == length:
                for used in range(1, 1 << length):  # columns that the first words of the text have taken
                    j = taken[used] - 1
                    for i in range(length):
                        if (used >> i) & 1:
                            sums[used] += chances[j, i] * sums[used ^ (1 << i)]
            else:
                for i in range(number):  # words of the text that the first columns have given
                    for given in range((1 << length) - 1, 0, -1):
                        for j in range(length):
                            if (given >> j) & 1:
                                sums[given] += chances[j, i] * sums[given ^ (1 << j)]
            totals[query] += scale + np.log(sums[(1 << length) - 1]) - ways
    return totals
