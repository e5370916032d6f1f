"""A small BM25 index in memory: FEA's local corpus, and what retrieval builds its own index from."""

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

from quipukit.errors import InputError
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
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"BM25 needs k1 >= 0 and b in [0, 1] (found k1={k1}, b={b}); try 0.9 and 0.4.")
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
        owner = np.repeat(np.arange(len(ids), dtype=np.int32), np.array(lengths, np.int64))
        texts = np.array(cleaned, np.int32)[np.frombuffer(stream, np.int32)] if stream else owner
        owner, texts = owner[texts >= 0], texts[texts >= 0]
        terms: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        term_of = np.array([terms[base] for base in (stems(vocabulary) if stemmed else vocabulary)], np.int64)
        sizes = np.bincount(owner, minlength=len(ids))
        postings = _postings(term_of[texts], owner, sizes, len(terms), k1, b)
        text_starts = np.concatenate([[0], np.cumsum(sizes)])
        return cls(ids, list(vocabulary), texts, text_starts, dict(terms), *postings, stemmed)

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


def _postings(
    stream: Rows, owner: NDArray[np.int32], sizes: Rows, terms: int, k1: float, b: float
) -> tuple[NDArray[np.int32], Floats, Rows]:
    count = max(len(sizes), 1)
    cells, frequency = np.unique(stream * count + owner, return_counts=True)
    documents = (cells % count).astype(np.int32)
    per_term = np.bincount(cells // count, minlength=terms)
    starts = np.concatenate([[0], np.cumsum(per_term)])
    idf = np.log(1 + (len(sizes) - per_term + 0.5) / (per_term + 0.5))
    mean = sizes.mean() if sizes.any() else 1.0
    norm = k1 * (1 - b + b * sizes / mean)
    impacts = np.repeat(idf, per_term) * frequency / (frequency + norm[documents])
    return documents, np.rint(impacts * 2.0**40) / 2.0**40, starts
