"""BM25 over a collection: exact scores, ties by docno, an index on disk, many queries at once."""

import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.files import is_written
from quipukit.bm25.formula import Settings
from quipukit.bm25.mapped import MappedIndex
from quipukit.collections.base import Collection, Document
from quipukit.errors import InputError, ResourceError
from quipukit.executors.shared import Shared, loaded_by
from quipukit.lexical import stems, text_words
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.storage import cache_home, locked
from quipukit.threads import in_threads

_FORMAT = 2
_BLOCK = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class BM25(Shared, Retriever, Scorer):
    """BM25 in Lucene's form (`quipukit.bm25.index.SmallIndex` has the formula), for retrieval and for re-ranking.

    The index is kept on disk and reused only while the collection's fingerprint and all settings stay the same.

    Reference: Robertson, Zaragoza. The probabilistic relevance framework: BM25 and beyond. 2009. The defaults k1 = 0.9
    and b = 0.4 are those of Anserini.
    """

    kind: ClassVar[str] = "index"
    portable = True

    postings: MappedIndex
    stemmed: bool = True
    stop_words: bool = True
    name: str = "bm25"
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", self.postings.hash())

    @classmethod
    def of(
        cls,
        collection: Collection,
        k1: float = 0.9,
        b: float = 0.4,
        stemmed: bool = True,
        stop_words: bool = True,
        *,
        progress: Progress | None = None,
    ) -> "BM25":
        """Open the index of a collection, making it where it is not there; ``progress`` is that of the making."""
        fingerprint = _fingerprint(collection, k1, b, stemmed, stop_words)
        folder = _folder(fingerprint)
        postings = MappedIndex.open(folder)
        if postings is None:
            with locked(folder):
                postings = MappedIndex.open(folder)
                if postings is None:
                    _build(collection, Settings(k1, b, stemmed, stop_words), folder, progress)
                    postings = MappedIndex.open(folder)
        if postings is None:
            raise ResourceError(
                f"the index in {folder} is not what was just written; check the disk, and run it again."
            )
        index = cls(postings=postings, stemmed=stemmed, stop_words=stop_words, fingerprint=fingerprint)
        if collection.origin is None:
            return index
        return loaded_by(index, functools.partial(_index_of, collection.origin, k1, b, stemmed, stop_words))

    @staticmethod
    def kept(collection: Collection) -> bool:
        """Return whether the index of a collection, with the usual settings, is on disk; its files are not checked."""
        return is_written(_folder(_fingerprint(collection, 0.9, 0.4, True, True)))

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        if depth < 1:
            raise InputError(f"depth must be at least 1 (found {depth}).")
        rows, starts = self._terms(queries)
        depth = min(depth, len(self.postings))
        documents = np.full((len(queries), depth), -1, np.int32)
        scores = np.empty((len(queries), depth))

        def some(start: int) -> None:
            part = slice(start, start + _BLOCK)
            self.postings.top(rows, starts[start : start + _BLOCK + 1], documents[part], scores[part])
            if progress:
                progress(min(start + _BLOCK, len(queries)), len(queries))

        if len(queries) <= _BLOCK:
            some(0)  # a pool of threads takes longer than many a query
        else:
            in_threads(some, range(0, len(queries), _BLOCK))
        counts = (documents >= 0).sum(axis=1)
        ends = np.cumsum(counts).tolist()
        docnos = self.postings.docnos.take(documents[documents >= 0].astype(np.int64))
        return [
            Ranking(docnos[end - count : end], scores[i, :count])
            for i, (end, count) in enumerate(zip(ends, counts.tolist(), strict=True))
        ]

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        rows, starts = self._terms([query for query, _ in batches])
        distinct = list(dict.fromkeys(docno for _, docnos in batches for docno in docnos))
        # A document that the collection does not have is number -1, and matches nothing.
        numbers = dict(zip(distinct, self.postings.docnos.find(distinct).tolist(), strict=True))
        results = []
        for done, (_, docnos) in enumerate(batches, 1):
            documents = np.array([numbers[docno] for docno in docnos], np.int32)
            results.append(self.postings.scores(rows[starts[done - 1] : starts[done]], documents))
            if progress:
                progress(done, len(batches))
        return results

    def _terms(self, queries: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the terms of all queries as rows, and where those of each begin; every word is looked up once."""
        words = [text_words(query, self.stop_words) for query in queries]
        distinct = list(dict.fromkeys(itertools.chain.from_iterable(words)))
        found = self.postings.terms.find(stems(distinct) if self.stemmed else distinct)
        row = {word: number for word, number in zip(distinct, found.tolist(), strict=True) if number >= 0}
        rows = [[row[word] for word in own if word in row] for own in words]
        starts = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64)
        return np.array(list(itertools.chain.from_iterable(rows)), np.int64), starts


# --- the index ------------------------------------------------------------------------------------------------------


def _index_of(origin: Callable[[], Collection], k1: float, b: float, stemmed: bool, stop_words: bool) -> BM25:
    """Open the index of a collection that is loaded first: how another process gets the same."""
    return BM25.of(origin(), k1, b, stemmed, stop_words)


def _fingerprint(collection: Collection, *settings: float) -> str:
    return hashlib.sha256(json.dumps([_FORMAT, collection.fingerprint, *settings]).encode()).hexdigest()


def _folder(fingerprint: str) -> Path:
    return cache_home() / "bm25" / fingerprint[:24]


def _build(collection: Collection, settings: Settings, folder: Path, progress: Progress | None) -> None:
    from quipukit.bm25.build import Work, build

    unfinished = cache_home() / "bm25-unfinished" / folder.name
    work = Work(folder, unfinished, collection.name, len(collection), progress)
    build(_documents(collection), settings, work)


def _documents(collection: Collection) -> Iterator[Document]:
    """Iterate over the documents of a collection, of which there must be one, and see that it stays the same."""
    fingerprint = collection.fingerprint
    document = None
    for document in collection.documents():
        yield document
    if document is None:
        raise InputError(f"the collection {collection.name!r} holds no document; there is nothing to search.")
    if collection.fingerprint != fingerprint:
        raise InputError(f"the documents of {collection.name!r} changed while they were indexed; run it again.")
