"""BM25 over a collection: exact scores, ties by docno, an index on disk, many queries at once."""

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.index import SmallIndex
from quipukit.bm25.kernels import top
from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.executors.shared import Shared, loaded_by
from quipukit.lexical import stems, text_words
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.storage import atomic_folder, cache_home, locked, sha256
from quipukit.threads import in_threads

_FORMAT = 1
_BLOCK = 256
_ARRAYS = ("documents", "impacts", "starts")


@dataclass(frozen=True, eq=False)
class Postings:
    """For every term, the documents that hold it and what it adds to their score; documents in order of docno."""

    docnos: list[str]
    terms: dict[str, int]
    documents: NDArray[np.int32]
    impacts: NDArray[np.float64]
    starts: NDArray[np.int64]

    def hash(self) -> str:
        """Return a hash over everything."""
        total = hashlib.sha256("\n".join([*self.docnos, "", *self.terms, ""]).encode())
        for name in _ARRAYS:
            total.update(np.ascontiguousarray(getattr(self, name)).data)
        return total.hexdigest()


@dataclass(frozen=True, eq=False, kw_only=True)
class BM25(Shared, Retriever, Scorer):
    """BM25 in Lucene's form (`smallindex.SmallIndex` has the formula), for retrieval and for re-ranking.

    The index is kept on disk and reused only while the collection's fingerprint and all settings stay the same.

    Reference: Robertson, Zaragoza. The probabilistic relevance framework: BM25 and beyond. 2009. The defaults k1 = 0.9
    and b = 0.4 are those of Anserini.
    """

    kind: ClassVar[str] = "index"
    portable = True

    postings: Postings
    stemmed: bool = True
    stop_words: bool = True
    name: str = "bm25"
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", self.postings.hash())

    @classmethod
    def of(
        cls, collection: Collection, k1: float = 0.9, b: float = 0.4, stemmed: bool = True, stop_words: bool = True
    ) -> "BM25":
        """Open the index of a collection, making it where it is not there."""
        settings = [_FORMAT, collection.fingerprint, k1, b, stemmed, stop_words]
        fingerprint = hashlib.sha256(json.dumps(settings).encode()).hexdigest()
        folder = cache_home() / "bm25" / fingerprint[:24]
        postings = _load(folder)
        if postings is None:
            with locked(folder):
                postings = _load(folder)
                if postings is None:
                    postings = _build(collection, k1, b, stemmed, stop_words)
                    _save(postings, folder)
        index = cls(postings=postings, stemmed=stemmed, stop_words=stop_words, fingerprint=fingerprint)
        if collection.origin is None:
            return index
        return loaded_by(index, functools.partial(_index_of, collection.origin, k1, b, stemmed, stop_words))

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        if depth < 1:
            raise InputError(f"depth must be at least 1 (found {depth}).")
        terms = [self._terms(query) for query in queries]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in terms])]).astype(np.int64)
        flat = np.concatenate([np.empty(0, np.int64), *terms])
        depth = min(depth, len(self.postings.docnos))
        documents = np.full((len(queries), depth), -1, np.int32)
        scores = np.empty((len(queries), depth))
        index = (self.postings.starts, self.postings.documents, self.postings.impacts, len(self.postings.docnos))

        def some(start: int) -> None:
            part = slice(start, start + _BLOCK)
            top(flat, starts[start : start + _BLOCK + 1], *index, documents[part], scores[part])
            if progress:
                progress(min(start + _BLOCK, len(queries)), len(queries))

        in_threads(some, range(0, len(queries), _BLOCK))
        counts = (documents >= 0).sum(axis=1)
        docnos = self.postings.docnos
        return [
            Ranking([docnos[row] for row in documents[i, :count].tolist()], scores[i, :count])
            for i, count in enumerate(counts.tolist())
        ]

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        numbers = {docno: number for number, docno in enumerate(self.postings.docnos)}
        postings = self.postings
        results = []
        for done, (query, docnos) in enumerate(batches, 1):
            total = np.zeros(len(numbers))
            for term in self._terms(query):
                span = slice(postings.starts[term], postings.starts[term + 1])
                total[postings.documents[span]] += postings.impacts[span]
            # A document that the collection does not have matches nothing.
            results.append(np.array([total[numbers[docno]] if docno in numbers else 0.0 for docno in docnos]))
            if progress:
                progress(done, len(batches))
        return results

    def _terms(self, query: str) -> NDArray[np.int64]:
        words = text_words(query, self.stop_words)
        known = self.postings.terms
        bases = stems(words) if self.stemmed else words
        return np.array([known[base] for base in bases if base in known], np.int64)


# --- the index ------------------------------------------------------------------------------------------------------


def _index_of(origin: Callable[[], Collection], k1: float, b: float, stemmed: bool, stop_words: bool) -> BM25:
    """Open the index of a collection that is loaded first: how another process gets the same."""
    return BM25.of(origin(), k1, b, stemmed, stop_words)


def _build(collection: Collection, k1: float, b: float, stemmed: bool, stop_words: bool) -> Postings:
    index = SmallIndex.build(collection.documents(), k1, b, stemmed, stop_words)
    if not len(index):
        raise InputError(f"the collection {collection.name!r} holds no document; there is nothing to search.")
    order = sorted(range(len(index)), key=index.ids.__getitem__)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    docnos = [index.ids[number] for number in order]
    return Postings(docnos, index.terms, place[index.documents], index.impacts, index.starts)


def _save(postings: Postings, folder: Path) -> None:
    with atomic_folder(folder) as draft:
        for name in _ARRAYS:
            np.save(draft / f"{name}.npy", getattr(postings, name))
        (draft / "words.json").write_text(json.dumps([postings.docnos, list(postings.terms)]), encoding="utf-8")
        checks = {file.name: sha256(file) for file in sorted(draft.iterdir())}
        (draft / "meta.json").write_text(json.dumps(checks), encoding="utf-8")


def _load(folder: Path) -> Postings | None:
    """Return a stored index, or None where it is missing or not what was written."""
    try:
        checks = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        if any(sha256(folder / name) != check for name, check in checks.items()):
            return None
        docnos, terms = json.loads((folder / "words.json").read_text(encoding="utf-8"))
        arrays = [np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS]
    except (OSError, ValueError):
        return None
    return Postings(docnos, {term: row for row, term in enumerate(terms)}, *map(np.asarray, arrays))
