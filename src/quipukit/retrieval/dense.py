"""Dense retrieval and re-ranking: documents and queries as vectors of one encoder.

A search needs the vectors of all documents: they are encoded once, ever, into the cache that all runs share. A
re-ranker needs those of the documents that were found, and which were found reveals the query: what the cache does not
have anyway is encoded in memory. So are queries. An experiment keeps both in its own folder; documents, however, only
where encoding takes long: with static word vectors one is encoded again in about the time that keeping it takes.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.collections.base import Collection, Document
from quipukit.encoders.base import Encoder, pair_similarities, similarities
from quipukit.encoders.encodings import Encodings
from quipukit.encoders.load import load_encoder
from quipukit.encoders.rowfile import Keys
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import InputError, ResourceError
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Scorer
from quipukit.retrieval.exact import Searcher
from quipukit.storage import atomic_folder

# Sorted by length within such a chunk, documents fill their batches well; more would hold more texts in memory.
_CHUNK = 65_536
# Texts that are read at a time to be re-ranked: some 100 MB of passages, and few passes over a file of millions.
_TEXTS = 262_144


class Dense(Retriever):
    """Exact search by an encoder's similarity over all documents of a collection.

    The documents are encoded at the first search (or by ``prepare``) into a memory-mapped store; an interrupted
    run resumes where it stopped, and finished vectors are reused as long as collection and encoder stay the same.
    """

    def __init__(
        self,
        collection: Collection,
        encoder: str | Encoder = "minilm",
        *,
        store: EncodingStore | None = None,
        queries: PrivateStore | None = None,
    ) -> None:
        """Bind an encoder to a collection; a store may be given in place of the encoder's own.

        ``queries`` keeps the vectors of queries too: for experiments, where they come again.
        """
        self.collection = collection
        self._store = EncodingStore(load_encoder(encoder)) if store is None else store
        self.encoder = self._store.encoder
        self.name = f"dense:{self.encoder.name}"
        self._encode_queries = self.encoder.encode if queries is None else queries.get
        self._ready: tuple[list[str], Searcher] | None = None

    def prepare(self, progress: Progress | None = None) -> tuple[list[str], Searcher]:
        """Encode the documents, as far as they are not; return the docnos and what searches their vectors."""
        if self._ready is None:
            docnos, encodings = self._load() or self._build(progress)
            self._ready = docnos, Searcher(encodings, self.encoder.similarity)
        return self._ready

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        """Return the ``depth`` best documents for every query; a query with nothing in it finds nothing.

        ``progress(done, total)`` counts what is encoded: the documents, where they are not yet, and the queries.
        """
        answers = [Ranking([], np.empty(0)) for _ in queries]
        asked = [number for number, query in enumerate(queries) if query.strip()]
        if not asked:
            return answers
        documents = 0 if self._ready else len(self.collection)
        total = documents + len(asked)
        docnos, searcher = self.prepare(_part(progress, 0, documents, total))
        texts = [queries[number] for number in asked]
        vectors = self._encode_queries(texts, "query", _part(progress, documents, len(asked), total))
        for number, (positions, scores) in zip(asked, searcher.top(vectors, depth), strict=True):
            answers[number] = Ranking([docnos[position] for position in positions], scores)
        return answers

    @property
    def _folder(self) -> Path:
        # Beside the vectors that its keys point to.
        return self._store.folder / "collections" / self.collection.fingerprint

    def _load(self) -> tuple[list[str], Encodings] | None:
        """Return docnos and vectors where all of them are on disk."""
        try:
            docnos: list[str] = json.loads((self._folder / "docnos.json").read_text(encoding="utf-8"))
            keys: Keys = np.load(self._folder / "keys.npy")
        except (OSError, ValueError):
            return None
        encodings = self._store.lookup(keys) if keys.shape == (len(docnos), 2) else None
        return None if encodings is None else (docnos, encodings)

    def _build(self, progress: Progress | None) -> tuple[list[str], Encodings]:
        docnos: list[str] = []
        parts: list[Keys] = [np.empty((0, 2), np.uint64)]
        total = len(self.collection)
        for chunk in _chunks(self.collection.documents()):
            texts = [text for _, text in chunk]
            self._store.ensure(texts, "document", _part(progress, len(docnos), len(chunk), total))
            parts.append(self._store.keys(texts, "document"))
            docnos += [docno for docno, _ in chunk]
            if progress:
                progress(len(docnos), total)
        # Sorted by docno once: from then on the lower position is the lower docno, which is how ties are broken.
        order = sorted(range(len(docnos)), key=docnos.__getitem__)
        docnos, keys = [docnos[place] for place in order], np.concatenate(parts)[order]
        with contextlib.suppress(OSError), atomic_folder(self._folder) as draft:
            (draft / "docnos.json").write_text(json.dumps(docnos), encoding="utf-8")
            np.save(draft / "keys.npy", keys)
        encodings = self._store.lookup(keys)
        if encodings is None:
            raise ResourceError(f"{self._store.folder} was changed by another process; run again.")
        return docnos, encodings


class DenseScorer(Scorer):
    """Scores documents for the original query by an encoder's similarity, encoding each document once."""

    def __init__(
        self, collection: Collection, encoder: str | Encoder = "minilm", *, store: PrivateStore | None = None
    ) -> None:
        """Bind an encoder to a collection; a store may be given in place of the encoder's own, with memory alone."""
        self.collection = collection
        self._store = PrivateStore(EncodingStore(load_encoder(encoder))) if store is None else store
        self.encoder = self._store.encoder
        self.name = f"dense:{self.encoder.name}"
        self._keys: dict[str, bytes] = {}

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the scores of every (query, docnos) pair; the documents of all pairs are encoded in one go.

        ``progress(done, total)`` counts the documents that had to be encoded.
        """
        wanted = list(dict.fromkeys(docno for _, docnos in batches for docno in docnos))
        if not wanted:
            return [np.empty(0) for _ in batches]
        place = {docno: position for position, docno in enumerate(wanted)}
        queries = self.encoder.encode([query for query, _ in batches], "query")
        if self.encoder.quick:
            places = [np.array([place[docno] for docno in docnos], np.int64) for _, docnos in batches]
            return self._scored_as_encoded(wanted, queries, places, progress)
        encodings = self._encodings(wanted, progress)
        return [
            similarities(vector, encodings[[place[docno] for docno in docnos]], self.encoder.similarity)
            for vector, (_, docnos) in zip(queries, batches, strict=True)
        ]

    def _scored_as_encoded(
        self,
        docnos: Sequence[str],
        queries: NDArray[np.float32],
        places: Sequence[NDArray[np.int64]],
        progress: Progress | None,
    ) -> list[NDArray[np.float64]]:
        """Return the scores of each query's documents, which are encoded, compared, and forgotten."""
        sizes = [len(own) for own in places]
        documents, asked = np.concatenate(places), np.repeat(np.arange(len(places)), sizes)
        order = np.argsort(documents, kind="stable")
        in_order, scores, done = documents[order], np.empty(len(documents)), 0
        for start in range(0, len(docnos), _TEXTS):
            texts = self.texts(docnos[start : start + _TEXTS])
            for positions, vectors in self.encoder.checked_pieces(texts, "document"):
                begins, ends = (np.searchsorted(in_order, start + positions, side) for side in ("left", "right"))
                pairs = order[_joined_ranges(begins, ends)]
                rows = np.repeat(vectors, ends - begins, axis=0)
                scores[pairs] = pair_similarities(queries[asked[pairs]], rows, self.encoder.similarity)
                done += len(positions)
                if progress:
                    progress(done, len(docnos))
        return np.split(scores, np.cumsum(sizes)[:-1])

    def texts(self, docnos: Sequence[str]) -> list[str]:
        """Return the texts of documents, all of them or none."""
        texts = self.collection.texts(docnos)
        absent = [docno for docno in docnos if docno not in texts]
        if absent:
            raise InputError(
                f"{len(absent)} of {len(docnos)} documents to re-rank are not in the collection "
                f"({', '.join(absent[:3])}); give the collection that was searched."
            )
        return [texts[docno] for docno in docnos]

    def _encodings(self, docnos: Sequence[str], progress: Progress | None) -> Encodings:
        """Return the vectors of documents; the texts are read only of documents not met before."""
        met = [self._keys.get(docno) for docno in docnos]
        if None not in met:
            known = self._store.lookup(np.frombuffer(b"".join(key for key in met if key), np.uint64).reshape(-1, 2))
            if known is not None:
                return known
        ordered = self.texts(docnos)
        encodings = self._store.ensure(ordered, "document", progress)
        for docno, key in zip(docnos, self._store.keys(ordered, "document"), strict=True):
            self._keys[docno] = key.tobytes()
        return encodings


def _joined_ranges(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return all numbers from each beginning to its end.

    >>> _joined_ranges(np.array([3, 0, 7]), np.array([5, 0, 9])).tolist()
    [3, 4, 7, 8]
    """
    sizes = ends - begins
    return np.arange(sizes.sum()) + np.repeat(ends - np.cumsum(sizes), sizes)


def _chunks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    while chunk := list(islice(documents, _CHUNK)):
        yield chunk


def _part(progress: Progress | None, before: int, size: int, total: int) -> Progress | None:
    """Return the progress of one part as progress of the whole."""
    if progress is None:
        return None
    return lambda done, of: progress(before + size * done / (of or 1), total)
