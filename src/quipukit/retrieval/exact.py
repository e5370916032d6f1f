"""The best documents by inner product or cosine, exactly, without ever holding queries x documents.

Scores come from float32 matrix products over blocks of documents. Each is off by at most a proved bound (see
``vectors.nearest``), so only documents within twice that bound of the depth-th best can belong to the answer; these
few are scored again in float64. The ranking is therefore that of a float64 brute force, and depends neither on
blocks nor on threads. Ties go to the lower position.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import Similarity, similarities
from quipukit.encoders.encodings import Encodings

Positions = NDArray[np.int64]
Scores = NDArray[np.float64]

_QUERIES = 512
_DOCUMENTS = 4096
_KEPT = 4_000_000  # candidates of one block of queries: bounds the memory where the depth is large


class Searcher:
    """Vectors of documents, ready to be searched."""

    def __init__(self, encodings: Encodings, similarity: Similarity) -> None:
        """Read the vectors once to learn their norms."""
        self._encodings = encodings
        self._similarity = similarity
        self._norms = np.empty(len(encodings))
        for positions, rows in encodings.blocks(_DOCUMENTS):
            self._norms[positions] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        # In the order of the disk, so that a pass reads forwards.
        self._order = np.argsort(encodings.rows, kind="stable")

    def top(self, queries: NDArray[np.float32], depth: int) -> list[tuple[Positions, Scores]]:
        """Return for every query the positions of the best ``depth`` documents, best first, and their scores."""
        from quipukit.threads import in_threads, workers

        count = len(self._encodings)
        depth = min(depth, count)
        if depth <= 0 or not len(queries):
            return [(np.empty(0, np.int64), np.empty(0)) for _ in queries]
        size = max(1, min(_QUERIES, _KEPT // (2 * depth)))
        starts = range(0, len(queries), size)
        # With few queries, the documents are divided among the threads instead.
        shards = np.array_split(self._order, workers() if len(starts) < workers() else 1)
        tasks = [(start, shard) for start in starts for shard in shards]

        def scan(task: tuple[int, Positions]) -> list[Positions]:
            start, shard = task
            return _Scan(self, queries[start : start + size], depth).over(shard)

        shard_results = in_threads(scan, tasks)

        def decide(number: int) -> tuple[Positions, Scores]:
            block, place = divmod(number, size)
            parts = [part[place] for part in shard_results[block * len(shards) : (block + 1) * len(shards)]]
            return self._best(queries[number], parts, depth)

        return in_threads(decide, range(len(queries)))

    def _best(self, query: NDArray[np.float32], parts: list[Positions], depth: int) -> tuple[Positions, Scores]:
        """Return the best of candidates by exact score."""
        positions = np.sort(np.concatenate(parts))
        scores = np.concatenate(
            [
                similarities(query, self._encodings[positions[start : start + _DOCUMENTS]], self._similarity)
                for start in range(0, len(positions), _DOCUMENTS)
            ]
        )
        best = np.argsort(-scores, kind="stable")[:depth]
        return positions[best], scores[best]


class _Scan:
    """One pass of a block of queries over some documents, keeping those that may be among the best."""

    def __init__(self, searcher: Searcher, queries: NDArray[np.float32], depth: int) -> None:
        from quipukit.numeric import error_bound

        self._searcher = searcher
        self._original = queries
        self._depth = depth
        self._cosine = searcher._similarity == "cosine"
        lengths = np.sqrt(np.einsum("ij,ij->i", queries, queries, dtype=np.float64))
        reach = lengths * searcher._norms.max(initial=0.0)
        self._queries = queries
        if self._cosine:
            scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            self._queries = (queries * scale[:, None]).astype(np.float32)
            reach = np.full(len(queries), 1.001)  # norms of 1, rounded
        self._slack = (2 * error_bound(queries.shape[1]) * reach + np.finfo(np.float32).tiny).astype(np.float32)
        self._bar = np.full(len(queries), -np.inf, np.float32)
        self._kept: list[tuple[Positions, Positions, NDArray[np.float32]]] = []

    def over(self, documents: Positions) -> list[Positions]:
        """Scan documents and return the candidates of every query."""
        pending = 0
        for positions, rows in self._blocks(documents):
            scores = self._queries @ rows.T
            if not self._kept and len(positions) >= self._depth:
                first = len(positions) - self._depth
                self._bar = np.partition(scores, first, axis=1)[:, first] - self._slack
            query, column = np.nonzero(scores >= self._bar[:, None])
            self._kept.append((query, positions[column], scores[query, column]))
            pending += len(query)
            if pending > 2 * self._depth * len(self._queries):
                self._prune()
                pending = 0
        self._prune()
        query, position, _ = self._kept[0]
        return np.split(position, np.searchsorted(query, np.arange(1, len(self._queries))))

    def _blocks(self, documents: Positions) -> Iterator[tuple[Positions, NDArray[np.float32]]]:
        for start in range(0, len(documents), _DOCUMENTS):
            positions = documents[start : start + _DOCUMENTS]
            rows = self._searcher._encodings[positions]
            if self._cosine:
                norms = self._searcher._norms[positions]
                scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
                rows = rows * scale[:, None].astype(np.float32)
            yield positions, rows

    def _prune(self) -> None:
        """Let the depth-th best so far set the bar, and drop what lies below it."""
        query, position, score = (np.concatenate(column) for column in zip(*self._kept, strict=True))
        order = np.lexsort((-score, query))
        query, position, score = query[order], position[order], score[order]
        starts = np.searchsorted(query, np.arange(len(self._queries) + 1))
        full = np.flatnonzero(np.diff(starts) >= self._depth)
        self._bar[full] = np.maximum(self._bar[full], score[starts[full] + self._depth - 1] - self._slack[full])
        keep = score >= self._bar[query]
        # A crowd of nearly equal documents cannot be distinguished in float32, and must not pile up.
        counts = np.bincount(query[keep], minlength=len(self._queries))
        for crowded in np.flatnonzero(counts > 4 * self._depth + _DOCUMENTS // 4):
            mine = np.flatnonzero(keep & (query == crowded))
            best, _ = self._searcher._best(self._original[crowded], [position[mine]], self._depth)
            keep[mine] = np.isin(position[mine], best)
        self._kept = [(query[keep], position[keep], score[keep])]
