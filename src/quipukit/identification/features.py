"""What a set of obfuscated queries shows of the mechanism that made it, without the queries that were asked.

Every variant of a query is divided at white space. Variants of the most frequent number of words are put on top of each
other, which gives one column of words per position: how often words repeat in it, how many there are, how near they lie
to each other and to the most frequent one, how common they are. Each figure is averaged over the positions of a query;
`FEATURES` names them in order. With the originals `OWN_FEATURES` follow.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.identification.reader import Floats, Reader, Rows
from quipukit.text import tokenize

FEATURES = (
    "shortfall",  # ln of the number of variants by the number asked for
    "same_length",
    "length_variation",
    "length",
    "repeated_variants",
    "sorted_words",
    "repeats",  # chance that two variants have the same word at a position
    "repeats_deviation",
    "effective_words",
    "top_share",
    "top_missing",
    "second_by_top",
    "constant",
    "constant_stop_words",
    "distinct",
    "singletons",
    "doubletons",
    "elsewhere_in_query",
    "elsewhere_in_file",
    "known",
    "stop_words",
    "lemmas",
    "rank",
    "rank_deviation",
    "norm",
    "norm_deviation",
    "pair_cosine",
    "top_cosine",
    "top_cosine_sent",
    "singleton_cosine",
    "main_axes",
    "position_cosine",
)
OWN_FEATURES = ("original_words", "original_on_top", "original_variants")
_AXES = 0.1  # share of the principal axes that counts as main


def features(
    variants: Sequence[Sequence[str]], reader: Reader, level: int, originals: Sequence[str] | None = None
) -> Floats:
    """Return one row of features per query, from at most ``level`` variants of each; NaN where nothing can be said.

    ``variants`` holds the texts of every query; ``originals`` the queries that were asked, in the same order.
    """
    sent = [[text.lower().split() for text in texts[:level]] for texts in variants]
    table = _Table.of(sent)
    columns = {
        **_length_features(sent, level),
        **table.repeats(reader),
        **table.words(reader),
        **table.distances(reader),
    }
    if originals is not None:
        columns |= _own_features(sent, [tokenize(text) for text in originals])
    names = FEATURES if originals is None else (*FEATURES, *OWN_FEATURES)
    return np.stack([columns[name] for name in names], axis=1)


def _length_features(sent: Sequence[Sequence[Sequence[str]]], level: int) -> Mapping[str, Floats]:
    rows = []
    for variants in sent:
        sizes = [len(words) for words in variants]
        mean = sum(sizes) / len(sizes)
        squares = sum(size * size for size in sizes) / len(sizes)
        pairs = [first <= second for words in variants for first, second in itertools.pairwise(words)]
        rows.append(
            (
                math.log(len(variants) / level),
                sizes.count(_modal(sizes)) / len(sizes),
                math.sqrt(max(0.0, squares - mean * mean)) / max(mean, 1.0),
                math.log1p(mean),
                _collisions(Counter(map(tuple, variants)).values()),
                sum(pairs) / len(pairs) if pairs else math.nan,
            )
        )
    names = ("shortfall", "same_length", "length_variation", "length", "repeated_variants", "sorted_words")
    return dict(zip(names, np.array(rows, float).reshape(-1, len(names)).T, strict=True))


def _own_features(sent: Sequence[Sequence[Sequence[str]]], originals: Sequence[Sequence[str]]) -> Mapping[str, Floats]:
    rows = []
    for variants, asked in zip(sent, originals, strict=True):
        own = set(asked)
        words = [word in own for variant in variants for word in variant]
        modal = _modal([len(variant) for variant in variants])
        columns = zip(*(variant for variant in variants if len(variant) == modal), strict=True)
        tops = [min(Counter(column).items(), key=lambda item: (-item[1], item[0]))[0] in own for column in columns]
        rows.append(
            (
                sum(words) / max(1, len(words)),
                sum(tops) / max(1, len(tops)),
                sum(list(variant) == list(asked) for variant in variants) / len(variants),
            )
        )
    return dict(zip(OWN_FEATURES, np.array(rows, float).reshape(-1, 3).T, strict=True))


def _modal(lengths: Sequence[int]) -> int:
    """Return the most frequent length, the shortest of equally frequent ones."""
    return min(Counter(lengths).items(), key=lambda item: (-item[1], item[0]))[0]


def _collisions(counts: Iterable[int]) -> float:
    """Return the chance that two draws without replacement are equal."""
    counts = list(counts)
    total = sum(counts)
    return sum(count * (count - 1) for count in counts) / (total * (total - 1)) if total > 1 else math.nan


@dataclass(frozen=True, eq=False)
class _Table:
    """Distinct words of every position with their counts, as parallel arrays; positions belong to queries."""

    queries: int
    query_of: Rows  # of a position
    position: Rows  # of an entry
    word: Rows  # of an entry: number in `lexicon`
    count: Floats
    lexicon: list[str]
    sent: tuple[Rows, Rows, Floats]  # query, word, and how often it was sent for it, at any position and length

    @classmethod
    def of(cls, sent: Sequence[Sequence[Sequence[str]]]) -> "_Table":
        numbers: dict[str, int] = {}
        query_of: list[int] = []
        entries: list[tuple[int, int, int]] = []
        totals: list[tuple[int, int, int]] = []
        for query, variants in enumerate(sent):
            total = Counter(itertools.chain.from_iterable(variants))
            totals += [(query, numbers.setdefault(word, len(numbers)), count) for word, count in total.items()]
            modal = _modal([len(variant) for variant in variants])
            for column in zip(*(variant for variant in variants if len(variant) == modal), strict=True):
                entries += [(len(query_of), numbers[word], count) for word, count in Counter(column).items()]
                query_of.append(query)
        table = np.array(entries, np.int64).reshape(-1, 3)
        whole = np.array(totals, np.int64).reshape(-1, 3)
        return cls(
            len(sent),
            np.array(query_of, np.int64),
            table[:, 0],
            table[:, 1],
            table[:, 2].astype(float),
            list(numbers),
            (whole[:, 0], whole[:, 1], whole[:, 2].astype(float)),
        )

    def _sum(self, values: Floats) -> Floats:
        """Return sums over the entries of each position."""
        sums: Floats = np.bincount(self.position, values, len(self.query_of)).astype(float)
        return sums

    def _mean(self, values: Floats) -> Floats:
        """Return means over the positions of each query; NaN stays out, and is the mean of none."""
        there = np.isfinite(values)
        total = np.bincount(self.query_of[there], values[there], self.queries)
        number = np.bincount(self.query_of[there], minlength=self.queries)
        return np.divide(total, number, out=np.full(self.queries, np.nan), where=number > 0)

    def _top(self) -> tuple[Rows, Floats, Floats]:
        """Return the entry with the highest count of each position, that count, and the second highest."""
        # Of equal counts the word that sorts first: the order of rows must not matter.
        alphabetical = np.argsort(np.argsort(np.array(self.lexicon, object)))[self.word]
        order = np.lexsort((alphabetical, -self.count, self.position))
        first = np.searchsorted(self.position[order], np.arange(len(self.query_of)))
        top = order[first]
        after = np.minimum(first + 1, len(order) - 1)
        second = np.where(self.position[order[after]] == np.arange(len(first)), self.count[order[after]], 0.0)
        return top, self.count[top], np.where(after == first, 0.0, second)

    def repeats(self, reader: Reader) -> Mapping[str, Floats]:
        """Return the features of counts."""
        total = self._sum(self.count)
        several = np.where(total > 1, total, np.nan)
        same = self._sum(self.count * (self.count - 1)) / (several * (several - 1))
        top, most, second = self._top()
        constant = np.where(total > 1, (most == total).astype(float), np.nan)
        stops = reader.facts(self.lexicon)[1][self.word[top]] > 0
        mean = self._mean(same)
        spread = self._mean(np.square(same - mean[self.query_of]))
        return {
            "repeats": mean,
            "repeats_deviation": np.sqrt(spread),
            "effective_words": self._mean(-np.log(same + 1 / several**2)),
            "top_share": self._mean(most / several),
            "top_missing": self._mean(np.log(1 - most / several + 0.5 / several)),
            "second_by_top": self._mean(second / np.where(total > 1, most, np.nan)),
            "constant": self._mean(np.where(stops, np.nan, constant)),
            "constant_stop_words": self._mean(np.where(stops, constant, np.nan)),
            "distinct": self._mean(self._sum(np.ones_like(self.count)) / several),
            "singletons": self._mean(self._sum((self.count == 1).astype(float)) / several),
            "doubletons": self._mean(self._sum((self.count == 2).astype(float)) / several),
        }

    def words(self, reader: Reader) -> Mapping[str, Floats]:
        """Return the features of which words are sent, at any position."""
        row, stop, lemma = reader.facts(self.lexicon)
        query, word, count = self.sent

        def total(values: Floats) -> Floats:
            sums: Floats = np.bincount(query, values, self.queries).astype(float)
            return sums

        size = total(count)
        own = row[word]
        known = np.where(own >= 0, count, 0.0)
        rank = np.log(np.maximum(own, 0) + 10.0)
        norm = reader.lengths()[np.maximum(own, 0)]
        figures: dict[str, Floats] = {}
        for name, values in (("rank", rank), ("norm", norm)):
            mean = _ratio(total(known * values), total(known))
            square = _ratio(total(known * np.square(values - mean[query])), total(known))
            figures |= {name: mean, f"{name}_deviation": np.sqrt(square)}
        file = np.bincount(word, count, len(self.lexicon))
        met = _ratio(total(count * (file[word] - count)), size * (size.sum() - size))
        return {
            **figures,
            "known": _ratio(total(known), size),
            "stop_words": _ratio(total(count * stop[word]), size),
            "lemmas": _ratio(total(count * lemma[word]), size),
            "elsewhere_in_file": np.log(met + 1e-4),
            **self._elsewhere(),
        }

    def _elsewhere(self) -> Mapping[str, Floats]:
        """Return which share of the words of a query is also sent at another of its positions."""
        place = self.query_of[self.position] * len(self.lexicon) + self.word
        _, inverse, times = np.unique(place, return_inverse=True, return_counts=True)
        again = (times[inverse] > 1).astype(float)
        total = self._sum(self.count)
        return {"elsewhere_in_query": self._mean(self._sum(self.count * again) / total)}

    def distances(self, reader: Reader) -> Mapping[str, Floats]:
        """Return the features of how near the words of a position lie to each other and to the most frequent one."""
        used = reader.facts(self.lexicon)[0][self.word]
        known = used >= 0
        unit = np.zeros((len(used), reader.vectors.dimension), np.float32)
        unit[known] = reader.places()[used[known]]
        size = len(self.query_of)
        sums = np.zeros((size, unit.shape[1]), np.float32)
        if size:
            sums[:] = np.add.reduceat(unit, np.searchsorted(self.position, np.arange(size)))  # entries are in order
        number = self._sum(known.astype(float))
        lengths = np.square(sums).sum(axis=1).astype(float)
        pairs = np.where(number > 1, number * (number - 1), np.nan)
        top, _, _ = self._top()
        to_top = np.einsum("ij,ij->i", unit, unit[top[self.position]]).astype(float)
        is_top = np.zeros(len(used), bool)
        is_top[top] = True
        counts = known & ~is_top & known[top[self.position]]
        once, often = counts & (self.count == 1), counts & (self.count > 1)
        rest = np.where(counts, self.count, 0.0)
        # How the words of a position scatter around their mean: the share of it along the main axes.
        means = sums / np.maximum(number, 1)[:, None]
        scatter = np.where(known[:, None], unit - means[self.position], 0.0)
        main = int(max(1, _AXES * unit.shape[1]))
        along = self._sum(np.square(scatter[:, :main]).sum(axis=1).astype(float))
        whole = self._sum(np.square(scatter).sum(axis=1).astype(float))
        return {
            "pair_cosine": self._mean((lengths - number) / pairs),
            "top_cosine": self._mean(_ratio(self._sum(to_top * counts), self._sum(counts.astype(float)))),
            "top_cosine_sent": self._mean(_ratio(self._sum(to_top * rest), self._sum(rest))),
            "singleton_cosine": self._mean(
                _ratio(self._sum(to_top * once), self._sum(once.astype(float)))
                - _ratio(self._sum(to_top * often), self._sum(often.astype(float)))
            ),
            "main_axes": self._mean(_ratio(along, whole)),
            "position_cosine": self._between(means),
        }

    def _between(self, means: NDArray[Any]) -> Floats:
        """Return the mean cosine between the mean words of different positions of a query."""
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        unit = np.divide(means, lengths, out=np.zeros_like(means), where=lengths > 0)
        sums = np.zeros((self.queries, unit.shape[1]))
        np.add.at(sums, self.query_of, unit)  # few rows
        number = np.bincount(self.query_of, (lengths[:, 0] > 0).astype(float), self.queries)
        pairs = np.where(number > 1, number * (number - 1), np.nan)
        return (np.square(sums).sum(axis=1) - number) / pairs


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
