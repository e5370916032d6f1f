"""A re-ranker for sessions: documents that were fetched once are ranked for query after query, and encoded once."""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import pair_similarities
from quipukit.progress import Progress
from quipukit.retrieval.base import Scorer
from quipukit.retrieval.dense import DenseScorer
from quipukit.retrieval.snippets import ShownDocuments

MOST = 50_000  # documents, of about a kilobyte each
_PART = 1024


class HeldDocuments(Scorer):
    """Scores as a re-ranker with a quick encoder does, and keeps the vectors of documents in memory.

    By itself such a re-ranker encodes documents again for every query: with one query that is less work than to look
    them up, in a session it is nearly all work, and most of the memory. Threads may share it.
    """

    def __init__(self, scorer: DenseScorer, most: int = MOST) -> None:
        """Stand before a re-ranker; it holds ``most`` documents, and begins anew after that."""
        self._scorer, self._most = scorer, most
        self.encoder, self.name = scorer.encoder, scorer.name
        self._lock = threading.Lock()
        # By docno; or by the text, where it is what an engine shows: that may change from answer to answer.
        self._fixed = not isinstance(scorer.collection, ShownDocuments)
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(self._vectors)

    def forget(self) -> None:
        """Let go of all documents."""
        with self._lock:
            self._vectors = {}

    def score_many(
        self, batches: Sequence[tuple[str, Sequence[str]]], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the scores of every (query, docnos) pair, bit by bit those of the re-ranker."""
        return [self._scores(query, docnos) for query, docnos in batches]

    def _scores(self, query: str, docnos: Sequence[str]) -> NDArray[np.float64]:
        if not docnos:
            return np.empty(0)
        own = self.encoder.encode([query], "query")
        # Some at a time: the comparison makes several copies, in double precision.
        parts = (self._rows(docnos[start : start + _PART]) for start in range(0, len(docnos), _PART))
        return np.concatenate([pair_similarities(own, rows, self.encoder.similarity) for rows in parts])

    def _rows(self, docnos: Sequence[str]) -> NDArray[np.float32]:
        names = docnos if self._fixed else self._scorer.texts(docnos)
        wanted = dict(zip(names, docnos, strict=True))
        with self._lock:
            new = [name for name in wanted if name not in self._vectors]
            if len(self._vectors) + len(new) > max(self._most, _PART):
                self._vectors, new = {}, list(wanted)
            texts = self._scorer.texts([wanted[name] for name in new]) if self._fixed else new
            for positions, vectors in self.encoder.checked_pieces(texts, "document"):
                # Copies: a row of an array would keep all of it.
                self._vectors.update((new[place], row.copy()) for place, row in zip(positions, vectors, strict=True))
            return np.stack([self._vectors[name] for name in names])
