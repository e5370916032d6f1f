"""Pairs of inputs where a mechanism is likely to leak: near and far, frequent, unknown, outliers, twins, case."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit import seeds
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.words import WordMechanism
from quipukit.vectors.store import Vectors

_TRIED = 400  # words that are looked at to find some that differ much in length
_LETTERS = "qzxvjk"

# For mechanisms that look at whole queries and have no pool to take some from.
_QUERIES = (
    ("near", "how does a tumor grow", "how does a cancer grow"),
    ("far", "how does a tumor grow", "income tax return"),
    ("near", "cat food", "dog food"),
    ("case", "Cat Food", "cat food"),
    ("unknown", "qqzzxv", "zzqqvx"),
    ("length", "cat", "what do cats eat in winter"),
)


@dataclass(frozen=True)
class Pair:
    """Two inputs, and why they were chosen."""

    kind: str
    one: str
    other: str


def pairs_of(mechanism: Mechanism, seed: int, each: int = 2) -> list[Pair]:
    """Return pairs of inputs of a mechanism, the same for the same seed; ``each`` of most kinds."""
    if isinstance(mechanism, WordMechanism):
        drawn = _word_pairs(_Vocabulary(mechanism, seed), each)
    elif getattr(mechanism, "cover", None) is not None:
        drawn = _pool_pairs(mechanism, seeds.keyed("audit pairs", seed), each)
    else:
        drawn = (Pair(*one) for one in _QUERIES)
    chosen: dict[frozenset[str], Pair] = {}
    for pair in drawn:
        if pair.one != pair.other:
            chosen.setdefault(frozenset((pair.one, pair.other)), pair)
    return list(chosen.values())


class _Vocabulary:
    """The words of a mechanism as single inputs, and their neighbors."""

    def __init__(self, mechanism: WordMechanism, seed: int) -> None:
        self.mechanism, self.vectors = mechanism, mechanism.vectors
        self.rng = seeds.keyed("audit pairs", seed)

    def is_input(self, row: int) -> bool:
        """Return whether a word, as an input, is seen as that word."""
        word = self.vectors.words[row]
        return self.mechanism.tokens(word) == [word] and self.vectors.row(word) == row

    def some(self, count: int, rows: Sequence[int] | None = None) -> list[int]:
        """Return rows of words that are inputs: the first ones of ``rows``, or random ones."""
        order = self.rng.permutation(len(self.vectors)).tolist() if rows is None else rows
        found: list[int] = []
        for row in order:
            if len(found) == count:
                break
            if self.is_input(row):
                found.append(row)
        return found

    def by_distance(self, point: Any) -> NDArray[np.int64]:
        """Return the rows by their distance from a point."""
        from quipukit.vectors.nearest import distances

        return np.argsort(distances(self.vectors.matrix, np.asarray(point, np.float64)), kind="stable")

    def nearest(self, row: int, farthest: bool = False) -> int | None:
        """Return the nearest, or the farthest, other word at another place; None where there is none."""
        matrix = self.vectors.matrix
        order = self.by_distance(matrix[row])
        for other in (order[::-1] if farthest else order).tolist():
            if other != row and (matrix[other] != matrix[row]).any() and self.is_input(other):
                return int(other)
        return None


def _word_pairs(all_words: _Vocabulary, each: int) -> Iterator[Pair]:
    words, size = all_words.vectors.words, len(all_words.vectors)
    unknown = unknown_words(all_words.mechanism, 2)
    anchor = all_words.some(1, all_words.by_distance(all_words.vectors.mean)[:_TRIED].tolist())
    yield Pair("unknown", *unknown)
    for row in anchor:
        yield Pair("unknown", unknown[0], words[row])
    for row in all_words.some(each):
        near, far = all_words.nearest(row), all_words.nearest(row, farthest=True)
        yield Pair("case", words[row].upper(), words[row])
        if near is None or far is None:
            continue
        yield Pair("near", words[row], words[near])
        yield Pair("case", words[row].upper(), words[near])
        yield Pair("far", words[row], words[far])
        yield Pair("query", f"{words[row]} {words[row]}", f"{words[row]} {words[near]}")
    frequent = all_words.some(each, list(range(min(size, _TRIED))))
    stop = all_words.some(each, [row for row in range(size) if words[row] in STOP_WORDS])
    outlier = all_words.some(1, all_words.by_distance(all_words.vectors.mean)[::-1][:_TRIED].tolist())
    for kind, rows in (("frequent", frequent), ("stop word", stop), ("outlier", outlier)):
        for row in rows:
            near = all_words.nearest(row)
            if near is not None:
                yield Pair(kind, words[row], words[near])
    for one, other in twins(all_words.vectors, each):
        if all_words.is_input(one) and all_words.is_input(other):
            yield Pair("twins", words[one], words[other])
    by_length = sorted(all_words.some(min(size, _TRIED)), key=lambda row: (len(words[row]), row))
    if len(by_length) > 1:
        yield Pair("length", words[by_length[0]], words[by_length[-1]])
    yield from _group_pairs(all_words, each)


def _group_pairs(all_words: _Vocabulary, each: int) -> Iterator[Pair]:
    """Return pairs of words of one group, where the mechanism has groups."""
    grouping = getattr(all_words.mechanism, "grouping", None)
    if grouping is None:
        return
    words = all_words.vectors.words
    for row in all_words.some(each):
        members = [int(one) for one in grouping.group_of_place(all_words.vectors.matrix[row], row) if one != row]
        for other in all_words.some(1, members):
            yield Pair("group", words[row], words[other])


def _pool_pairs(mechanism: Any, rng: np.random.Generator, each: int) -> Iterator[Pair]:
    """Return pairs of queries in and outside a public pool; near ones are neighbors in its partition."""
    pool, order = mechanism.cover.pool, mechanism.cover.order
    places = rng.permutation(len(order))[: 2 * each].tolist()
    for place in places[:each]:
        here = pool.texts[int(order[place])]
        yield Pair("near", here, pool.texts[int(order[(place + 1) % len(order)])])
        yield Pair("case", here.upper(), here)
        yield Pair("outside", f"{here} qqzzxv", here)
    for place in places[each:]:
        yield Pair("far", pool.texts[int(order[place])], pool.texts[int(order[place - len(order) // 2])])
    yield Pair("unknown", "qqzzxv", "zzqqvx")
    yield Pair("unknown", "qqzzxv", pool.texts[int(order[0])])


def twins(vectors: Vectors, most: int) -> list[tuple[int, int]]:
    """Return pairs of rows with equal vectors, at most so many."""
    matrix = np.ascontiguousarray(vectors.matrix)
    seen: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for row, vector in enumerate(matrix):
        first = seen.setdefault(vector.tobytes(), row)
        if first != row:
            pairs.append((first, row))
            if len(pairs) == most:
                break
    return pairs


def unknown_words(mechanism: WordMechanism, count: int) -> list[str]:
    """Return strings outside the vocabulary that are one word each."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        digits = np.base_repr(number + 6**4, 6)
        word = "".join(_LETTERS[int(digit)] for digit in digits)
        if mechanism.tokens(word) == [word] and mechanism.vectors.row(word) < 0:
            found.append(word)
        number += 7
    return found
