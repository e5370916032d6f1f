"""A query log as a mechanism sees it: its own words, and the places in its embedding where they stand.

An attacker that knows the mechanism divides every query of the log as the mechanism would, and asks for each word how
likely it gives what was sent. All words without a vector may share one place, a word may pass unchanged, or none may
come out of it: a column of a table of likelihoods is one such place, and a query is a row of columns.
"""

from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quipukit.mechanisms.wordoptions import PADDED_OOV
from quipukit.mechanisms.words import GAUSSIAN, KEEP, UNIFORM, WordMechanism
from quipukit.text import key
from quipukit.vectors.store import Vectors

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Ids = NDArray[np.int32]

_DROPPED = -9
_SHARED = 6  # places and two kinds of distances, of two sets of texts at a time


@dataclass(frozen=True, eq=False)
class LogSites:
    """Query r of a log is ``ids[starts[r]:starts[r + 1]]``: the numbers of columns.

    ``kinds[c]`` is 0 for a place in the embedding, at ``points[c]`` and with row ``rows[c]`` of the vocabulary (-1 for
    a place that is no word); or ``UNIFORM``, ``GAUSSIAN`` or ``KEEP``. What is kept is the output ``rows[c]``: a row of
    the vocabulary, or a number beyond it for a word that the vocabulary lacks (``extra``).
    """

    vectors: Vectors
    ids: Ids
    starts: Rows
    kinds: Ids
    rows: Rows
    points: NDArray[np.float32]
    composed: "dict[int, Floats]"
    extra: "dict[str, int]"
    anchor: int  # the column of unknown words, which a query may be filled up with; -1 where they have no place

    @classmethod
    def of(cls, mechanism: WordMechanism, texts: Sequence[str]) -> "LogSites":
        """Divide every text as the mechanism does."""
        vectors = mechanism.vectors
        columns: dict[Hashable, int] = {}
        of_part: dict[str, list[int]] = {}
        kinds: list[int] = []
        rows: list[int] = []
        composed: dict[int, Floats] = {}
        extra: dict[str, int] = {}

        def column(word: str) -> int:
            kind, row, place, point = _site(mechanism, word)
            if kind == _DROPPED:
                return _DROPPED
            if kind == KEEP and row < 0:
                row = extra.setdefault(word, len(vectors) + len(extra))
            number = columns.setdefault((kind, place), len(kinds))
            if number == len(kinds):
                kinds.append(kind)
                rows.append(row)
                if point is not None:
                    composed[number] = point
            return number

        ids = array("i")
        starts = np.zeros(len(texts) + 1, np.int64)
        for row, text in enumerate(texts):
            for part in _parts(mechanism, text):
                if part not in of_part:
                    of_part[part] = [number for word in mechanism.tokens(part) if (number := column(word)) != _DROPPED]
                ids.extend(of_part[part])
            starts[row + 1] = len(ids)
        anchor = -1
        if mechanism.oov in PADDED_OOV:
            anchor = columns.setdefault((0, "anchor"), len(kinds))
            if anchor == len(kinds):
                kinds.append(0)
                rows.append(-1)
        places = np.array(rows, np.int64)
        points = np.zeros((len(kinds), vectors.dimension), np.float32)
        inside = np.flatnonzero((np.array(kinds, np.int64) == 0) & (places >= 0)) if kinds else places
        points[inside] = vectors.matrix[places[inside]]
        numbers = np.array(ids, np.int32)
        return cls(vectors, numbers, starts, np.array(kinds, np.int32), places, points, composed, extra, anchor)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> Rows:
        """Return how many words every query has, dropped ones apart."""
        return np.diff(self.starts)

    @cached_property
    def _by_length(self) -> "dict[int, OfLength]":
        return {}

    def of_length(self, length: int) -> "OfLength":
        """Return the queries of one length, and the columns that they have."""
        if length not in self._by_length:
            queries = np.flatnonzero(self.lengths == length)
            tokens = self.starts[queries][:, None] + np.arange(length)
            columns, local = np.unique(self.ids[tokens], return_inverse=True)
            self._by_length[length] = OfLength(queries, columns.astype(np.int64), local.reshape(len(queries), length))
        return self._by_length[length]

    def places(self, columns: Rows) -> Floats:
        """Return the points of some columns, in float64."""
        points = self.points[columns].astype(np.float64)
        for number in np.flatnonzero(self.rows[columns] < 0):
            points[number] = self.composed.get(int(columns[number]), self.vectors.mean)
        return points

    def shared_places(self, columns: Rows) -> Floats:
        """Return the same, for columns that one law after the other asks for."""
        return self.shared(("places", columns.tobytes()), lambda: self.places(columns))

    def shared(self, name: Hashable, build: "Callable[[], Floats]") -> Floats:
        """Return what one law after the other asks for; the last few are kept, and nobody may change them."""
        value = self._shared.get(name)
        if value is None:
            value = build()
            value.flags.writeable = False
            self._shared[name] = value
            while len(self._shared) > _SHARED:
                self._shared.popitem(last=False)
        return value

    @cached_property
    def _shared(self) -> "OrderedDict[Hashable, Floats]":
        return OrderedDict()

    def output(self, word: str) -> int:
        """Return the number of a word that was sent; -1 for one that no mechanism with these words sends."""
        row = self.vectors.row(word)
        return row if row >= 0 else self.extra.get(word, -1)


@dataclass(frozen=True, eq=False)
class OfLength:
    """The queries of one length as rows of ``local`` numbers, and the column behind each such number."""

    queries: Rows
    columns: Rows
    local: Rows


def _parts(mechanism: WordMechanism, text: str) -> list[str]:
    """Return parts of a text whose tokens, one after the other, are those of the text: few are new in a long log."""
    own = type(mechanism).tokens is WordMechanism.tokens
    return key(text).split() if own and mechanism.tokenizer == "clean" else [text]


def _site(mechanism: WordMechanism, word: str) -> "tuple[int, int, Hashable, Floats | None]":
    """Return the kind of a token's place, its row, what tells it from others, and its point where it is composed."""
    row = mechanism.vectors.row(word)
    if row >= 0:
        return (KEEP if mechanism.passes(word) else 0), row, row, None
    if mechanism.oov == "drop":
        return _DROPPED, -1, None, None
    if mechanism.oov == "subword" and mechanism.vectors.compose is not None:
        point = mechanism.vectors.compose(word)
        if point is not None:
            return 0, -1, ("subword", word), np.asarray(point, np.float64)
    if mechanism.oov in ("anchor", "subword"):
        return 0, -1, "anchor", None
    kind = {"uniform": UNIFORM, "keep": KEEP, "gaussian": GAUSSIAN}[mechanism.oov]
    return kind, -1, word if kind == KEEP else None, None


@dataclass(frozen=True, eq=False)
class Observed:
    """What was sent for one query: ``counts[i, y]`` is how often the output ``rows[y]`` stood at position i.

    A word that the mechanism cannot send has no row: ``unknown[i]`` is how many stood at position i.
    """

    length: int
    rows: Rows
    counts: Floats
    unknown: Floats
    left_out: int  # texts with another number of words than most have

    @classmethod
    def of(cls, sites: LogSites, texts: Sequence[str]) -> "Observed":
        """Count outputs. Mechanisms join them by blanks, whatever their tokenizer; empty ones count where all are."""
        divided = [words for text in texts if (words := text.split())] or [[] for _ in texts]
        lengths = Counter(map(len, divided))
        length = min(lengths, key=lambda number: (-lengths[number], number)) if lengths else 0
        kept = [words for words in divided if len(words) == length]
        numbers = np.array([[sites.output(word) for word in words] for words in kept], np.int64)
        numbers = numbers.reshape(len(kept), length)
        rows = np.unique(numbers[numbers >= 0])
        counts = np.zeros((length, len(rows)))
        for position in range(length):
            column = numbers[:, position]
            np.add.at(counts[position], np.searchsorted(rows, column[column >= 0]), 1.0)
        return cls(length, rows, counts, (numbers < 0).sum(axis=0).astype(np.float64), len(texts) - len(kept))

    @property
    def total(self) -> Floats:
        """Return how many words stood at each position."""
        return self.counts.sum(axis=1) + self.unknown
