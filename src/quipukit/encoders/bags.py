"""Texts as bags of words: which rows of a vocabulary a text holds, and the weighted sum of their vectors."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.text import key, tokenize
from quipukit.vectors.store import Vectors

# Words that are summed at a time: bounds the rows that are copied in double precision.
_WORDS = 32_768
_MOST_TEXTS = 4096

Bags = tuple[NDArray[np.int64], NDArray[np.int64]]  # the rows of all words, and where each text's begin
Part = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]  # positions, sums, words that were known


class BagReader:
    """Reads texts word by word, as the mechanisms do, and looks the words up; unknown ones are skipped.

    Written forms repeat, so each is cleaned and looked up once per reader. A reader lives as long as one call: no word
    of a query stays in it.
    """

    def __init__(self, vectors: Vectors) -> None:
        """Begin without a word."""
        self._vectors = vectors
        self._rows: dict[str, tuple[int, ...]] = {}

    def read(self, text: str) -> list[int]:
        """Return the rows of a text's known words, in its order."""
        rows: list[int] = []
        for written in key(text).split():
            known = self._rows.get(written)
            if known is None:
                known = self._rows[written] = self._look_up(written)
            rows += known
        return rows

    def read_all(self, texts: Iterable[str]) -> Bags:
        """Return the rows of many texts."""
        starts, rows = [0], list[int]()
        for text in texts:
            rows += self.read(text)
            starts.append(len(rows))
        return np.array(rows, np.int64), np.array(starts, np.int64)

    def _look_up(self, written: str) -> tuple[int, ...]:
        rows = (self._vectors.row(word) for word in tokenize(written, self._vectors.__contains__))
        return tuple(row for row in rows if row >= 0)


def weighted_sums(
    texts: Sequence[str] | Iterable[str], vectors: Vectors, weights: NDArray[np.floating]
) -> Iterator[Part]:
    """Yield (positions of texts, the weighted sums of their words' vectors, how many words were known) in parts.

    A sum is taken in double precision and in the order of the vocabulary, one text at a time: it depends neither on
    the order of the words nor on the other texts.
    """
    reader, position = BagReader(vectors), 0
    stream = iter(texts)
    while chunk := list(itertools.islice(stream, _MOST_TEXTS)):
        rows, starts = reader.read_all(chunk)
        for first, last in _ranges(starts):
            part = rows[starts[first] : starts[last]], starts[first : last + 1] - starts[first]
            yield np.arange(position + first, position + last), _sums(vectors, weights, part), np.diff(part[1])
        position += len(chunk)


def _ranges(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Divide texts into runs of a limited number of words; a longer text is a run of its own."""
    first, count = 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + _WORDS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _sums(vectors: Vectors, weights: NDArray[np.floating], bags: Bags) -> NDArray[np.float64]:
    from scipy.sparse import csr_matrix

    rows, starts = bags
    distinct, columns = np.unique(rows, return_inverse=True)
    counts = csr_matrix((np.ones(len(rows)), columns, starts), (len(starts) - 1, len(distinct)))
    counts.sum_duplicates()  # sorts each row's words, too
    counts.data *= weights[distinct][counts.indices]
    sums: NDArray[np.float64] = counts @ vectors.matrix[distinct].astype(np.float64)
    return sums
