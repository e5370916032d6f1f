"""Texts as bags of words: which rows of a vocabulary a text holds, and the weighted sum of their vectors."""

import itertools
import string
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quipukit.text import key, tokenize
from quipukit.threads import in_threads
from quipukit.vectors.store import Vectors

# Words that are summed at a time: bounds what is in double precision.
_WORDS = 32_768
_MOST_TEXTS = 4096

_PUNCTUATION = string.punctuation + "".join(map(chr, (*range(32), 127)))  # and what is drawn as nothing

Bags = tuple[NDArray[np.int64], NDArray[np.int64]]  # the rows of all words, and where each text's begin
Part = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]  # positions, sums, words that were known
Made = TypeVar("Made")


class BagReader:
    """Reads texts word by word, as the mechanisms do, and looks the words up; unknown ones are skipped.

    Written forms repeat, so each is cleaned and looked up once per reader. A reader lives as long as one call: no word
    of a query stays in it.
    """

    def __init__(self, vectors: Vectors) -> None:
        """Begin without a word."""
        self._rows = _KnownRows(vectors)

    def read(self, text: str) -> list[int]:
        """Return the rows of a text's known words, in its order."""
        # Of plain letters the key differs in case and blanks alone.
        written = text.lower().split() if text.isascii() else key(text).split()
        return list(itertools.chain.from_iterable(map(self._rows.__getitem__, written)))

    def read_all(self, texts: Iterable[str]) -> Bags:
        """Return the rows of many texts."""
        starts, rows = [0], list[int]()
        for text in texts:
            rows += self.read(text)
            starts.append(len(rows))
        return np.array(rows, np.int64), np.array(starts, np.int64)


class _KnownRows(dict[str, tuple[int, ...]]):
    """The rows of a written form's words; of one that was not met before they are looked up."""

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors

    def __missing__(self, written: str) -> tuple[int, ...]:
        self[written] = known = self._look_up(written)
        return known

    def _look_up(self, written: str) -> tuple[int, ...]:
        # Most new forms are known words with another comma or bracket: what `tokenize` strips is stripped first.
        if written.isascii():
            word = written.strip(_PUNCTUATION)
            if word != written:
                return self[word]
            if word.isalnum():
                row = self._vectors.row(word)
                return (row,) if row >= 0 else ()
        rows = (self._vectors.row(word) for word in tokenize(written, self._vectors.__contains__))
        return tuple(row for row in rows if row >= 0)


def weighted_sums(texts: Iterable[str], vectors: Vectors, weights: NDArray[np.floating]) -> Iterator[Part]:
    """Yield (positions of texts, the weighted sums of their words' vectors, how many words were known) in parts.

    A sum is taken in double precision and in the order of the vocabulary, one text at a time: it depends neither on
    the order of the words nor on the other texts.
    """
    return each_part(texts, vectors, weights, lambda part: part)


def each_part(
    texts: Iterable[str], vectors: Vectors, weights: NDArray[np.floating], finish: Callable[[Part], Made]
) -> Iterator[Made]:
    """Yield what ``finish`` makes of each part of the `weighted_sums`, in the thread that summed it."""
    reader, position = BagReader(vectors), 0
    matrix = np.asarray(vectors.matrix)

    def part(span: tuple[int, int]) -> Made:
        first, last = span
        begins = starts[first : last + 1]
        sums = np.zeros((last - first, matrix.shape[1]))
        _add_up(rows, begins, matrix, weights, sums)
        return finish((np.arange(position + first, position + last), sums, np.diff(begins)))

    stream = iter(texts)
    while chunk := list(itertools.islice(stream, _MOST_TEXTS)):
        rows, starts = reader.read_all(chunk)
        yield from in_threads(part, _ranges(starts))
        position += len(chunk)


def _ranges(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Divide texts into runs of a limited number of words; a longer text is a run of its own."""
    first, count = 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + _WORDS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _add_up(rows: Any, starts: Any, matrix: Any, weights: Any, sums: Any) -> None:
    from quipukit.encoders.bag_kernel import add_up

    add_up(rows, starts, matrix, weights, sums)
