"""A small BM25 index in memory: FEA's local corpus, and what the index on disk is tested against."""

import functools
import hashlib
import itertools
from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.formula import Settings, idf, mean_length, norms, summands
from quipukit.executors.shared import Shared
from quipukit.lexical import cleaned_word, runs_of, stems

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SmallIndex(Shared):
    """A BM25 index of a collection that fits into memory: exact, and made for many short queries.

    With N documents, df(t) of which hold the term t, tf(t, d) times in document d of |d| words::

        score(q, d) = sum over t in q of  idf(t) * tf(t, d) / (tf(t, d) + k1 * (1 - b + b * |d| / mean |d|))
        idf(t)      = ln(1 + (N - df(t) + 0.5) / (df(t) + 0.5))

    This is the form that Lucene uses (the constant factor k1 + 1 is left out). Each posting holds its
    summand, so a search only adds. Summands are rounded to multiples of 2**-40: then sums of hundreds of them
    are exact in any order, and documents that tie by the formula tie here. A term that a query repeats counts
    as often. Ties go to the document that came first.

    Reference: Robertson, Zaragoza. The probabilistic relevance framework: BM25 and beyond. Foundations and
    Trends in Information Retrieval 3(4), 2009.

    >>> index = SmallIndex.build([("a", "a crime story"), ("b", "stories of the sea")])
    >>> index.search(["crime", "story"])[0]
    ['a', 'b']
    """

    kind: ClassVar[str] = "index"

    ids: list[str]
    # The documents one after the other, as rows of the vocabulary, which lists the words as they are written.
    vocabulary: list[str] = field(repr=False)
    texts: NDArray[np.int32] = field(repr=False)
    text_starts: Rows = field(repr=False)
    # The postings by term, then by document. A term is a stem, or a word where nothing is stemmed.
    terms: dict[str, int] = field(repr=False)
    documents: NDArray[np.int32] = field(repr=False)
    impacts: Floats = field(repr=False)
    starts: Rows = field(repr=False)
    stemmed: bool = True

    @classmethod
    def build(
        cls,
        documents: Iterable[tuple[str, str]],
        k1: float = 0.9,
        b: float = 0.4,
        stemmed: bool = True,
        skip_stop_words: bool = True,
    ) -> "SmallIndex":
        """Index (id, text) pairs, without stop words; ``stemmed`` conflates words by their stems."""
        settings = Settings(k1, b, stemmed, skip_stop_words)
        read = read_words(documents, skip_stop_words)
        terms, term_of = terms_of(read.vocabulary, stemmed)
        sizes = np.bincount(read.owners, minlength=len(read.ids))
        postings = _postings(term_of[read.words], read.owners, sizes, len(terms), settings)
        text_starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = {term: row for row, term in enumerate(terms)}
        return cls(read.ids, read.vocabulary, read.words, text_starts, rows, *postings, stemmed)

    def __len__(self) -> int:
        return len(self.ids)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over the documents and their summands: equal for equal indexes."""
        total = hashlib.sha256("\n".join([*self.ids, "", *self.vocabulary, "", *self.terms, ""]).encode())
        for part in (self.texts, self.text_starts, self.documents, self.impacts, self.starts):
            total.update(np.ascontiguousarray(part).data)
        return total.hexdigest()

    def words_of(self, document: int) -> list[str]:
        """Return the words of a document (by its number), in order and without stop words."""
        rows = self.texts[self.text_starts[document] : self.text_starts[document + 1]]
        return [self.vocabulary[row] for row in rows.tolist()]

    def term_rows(self, words: Iterable[str]) -> Rows:
        """Return the terms of words as rows, in order; words that the collection lacks are left out."""
        bases = stems(words) if self.stemmed else words
        return np.array([self.terms[base] for base in bases if base in self.terms], np.int64)

    def search(self, words: Iterable[str], depth: int = 100) -> tuple[list[str], Floats]:
        """Return ids and scores of the best documents, at most ``depth``, the best first.

        ``words`` are single lower-case words, for instance those of `text_words`.
        """
        documents, scores = self.rank(self.term_rows(words), depth)
        return [self.ids[document] for document in documents.tolist()], scores

    def rank(self, rows: Rows, depth: int) -> tuple[Rows, Floats]:
        """Search for terms given as rows; return the numbers of the documents and their scores."""
        if not len(rows) or depth < 1:
            return np.empty(0, np.int64), np.empty(0)
        total = np.zeros(len(self.ids))
        for row in rows:
            span = slice(self.starts[row], self.starts[row + 1])
            total[self.documents[span]] += self.impacts[span]
        # A summand is positive, so what is not 0 was touched.
        documents = self.documents[span].astype(np.int64) if len(rows) == 1 else np.flatnonzero(total)
        scores = total[documents]
        if len(documents) > depth:
            bar = np.partition(scores, len(scores) - depth)[len(scores) - depth]
            kept = scores > bar
            kept[np.flatnonzero(scores == bar)[: depth - np.count_nonzero(kept)]] = True
            documents, scores = documents[kept], scores[kept]
        order = np.argsort(-scores, kind="stable")  # found ascends: ties stay in the documents' order
        return documents[order], scores[order]

    def rank_targets(self, rows: Rows, starts: Rows, targets: Rows) -> tuple[NDArray[np.int32], Rows]:
        """Run many queries and return where a few documents come.

        Query i has the term rows ``rows[starts[i]:starts[i + 1]]``. The result is the rank (from 0) of
        each target in each query, -1 where it does not match, and how many documents match each query. Ranks
        are those of `rank`: a target's is the number of documents before it, so nothing is sorted.
        """
        ranks = np.full((len(starts) - 1, len(targets)), -1, np.int32)
        matched = np.zeros(len(starts) - 1, np.int64)
        if len(rows):
            from quipukit.bm25.kernels import rank_targets

            postings = (self.starts, self.documents, self.impacts, len(self.ids))
            rank_targets(rows, starts, targets, *postings, ranks, matched)
        return ranks, matched


@dataclass(frozen=True, eq=False)
class WordStream:
    """The words of some documents, one after the other, as rows of a vocabulary, and the document of each."""

    ids: list[str]
    vocabulary: list[str]
    words: NDArray[np.int32]
    owners: NDArray[np.int32]


def read_words(documents: Iterable[tuple[str, str]], skip_stop_words: bool = True) -> WordStream:
    """Divide (id, text) pairs into words."""
    ids: list[str] = []
    lengths: list[int] = []
    seen: defaultdict[str, int] = defaultdict(itertools.count().__next__)  # numbers what is new
    stream = array("i")
    for id, text in documents:
        runs = runs_of(text)
        stream.extend(map(seen.__getitem__, runs))
        ids.append(id)
        lengths.append(len(runs))
    # Cleaning each distinct run once, and not each occurrence, makes this fast.
    vocabulary: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    cleaned = [vocabulary[word] if (word := cleaned_word(run, skip_stop_words)) else -1 for run in seen]
    owners = np.repeat(np.arange(len(ids), dtype=np.int32), np.array(lengths, np.int64))
    words = np.array(cleaned, np.int32)[np.frombuffer(stream, np.int32)] if stream else owners
    return WordStream(ids, list(vocabulary), words[words >= 0], owners[words >= 0])


def terms_of(vocabulary: list[str], stemmed: bool) -> tuple[list[str], Rows]:
    """Return the distinct terms of words, and the row of every word's term among them."""
    terms: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    rows = np.array([terms[base] for base in (stems(vocabulary) if stemmed else vocabulary)], np.int64)
    return list(terms), rows


def counted(
    stream: Rows, owners: NDArray[np.int32], documents: int, terms: int
) -> tuple[NDArray[np.int32], Rows, Rows]:
    """Return the postings by term, then by document: documents, frequencies, and where the terms begin."""
    count = max(documents, 1)
    cells, frequencies = np.unique(stream * count + owners, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells // count, minlength=terms))])
    return (cells % count).astype(np.int32), frequencies, starts


def _postings(
    stream: Rows, owners: NDArray[np.int32], sizes: Rows, terms: int, settings: Settings
) -> tuple[NDArray[np.int32], Floats, Rows]:
    documents, frequencies, starts = counted(stream, owners, len(sizes), terms)
    per_term = np.diff(starts)
    norm = norms(sizes, mean_length(int(sizes.sum()), len(sizes)), settings.k1, settings.b)
    weights = np.repeat(idf(per_term, len(sizes)), per_term)
    return documents, summands(weights, frequencies, norm[documents]), starts
