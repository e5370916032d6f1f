"""A pool as points: the unit encodings of its queries, and what a law over all of them needs."""

import functools
import hashlib
import threading
import weakref
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.distances import distances, log_normalizers, unit_rows
from quipukit.covers.pool import QueryPool
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import SpecError
from quipukit.progress import Progress
from quipukit.vectors.store import Vectors

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]


class EncodedPool:
    """The unit encodings of a pool's queries, in the order of the pool. A text without a known word may have length 0.

    Such a point is as far from every unit vector as the length of one, 1, and 0 from others of its kind: a point of
    the same metric space.
    """

    def __init__(self, pool: QueryPool, encoder: Encoder, progress: Progress | None = None) -> None:
        """Encode the pool, or read its encodings: they are kept (`EncodingStore`), for its queries are public."""
        self._store = EncodingStore(encoder)
        self.rows = unit_rows(self._store.get(pool.texts, "query", progress))
        self._texts, self._name = pool.texts, pool.name
        self._candidates: CandidatePoints | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, pool: QueryPool, encoder: str, progress: Progress | None = None) -> "EncodedPool":
        """Return a pool by an encoder's name: one and the same, for as long as the pool is there."""
        with _lock:
            known = _encoded.setdefault(pool, {})
            if encoder not in known:
                known[encoder] = cls(pool, load_encoder(encoder), progress)
            return known[encoder]

    @functools.cached_property
    def vectors(self) -> Vectors:
        """Return the pool as a vocabulary of queries, for what works on word vectors."""
        return Vectors(self._texts, self.rows, name=self._name)

    def point(self, query: str) -> Singles:
        """Return the unit encoding of a query, which is kept nowhere."""
        return unit_rows(self._store.encoder.encode([query]))[0]

    def distances(self, query: str) -> Floats:
        """Return the distance from a query to every query of the pool."""
        return distances(self.rows, self.point(query))

    def candidates(self, texts: Sequence[str]) -> "CandidatePoints":
        """Return queries as points; those that were asked for last are kept, as they take much to compute."""
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            if self._candidates is None or self._candidates.digest != digest:
                # Not in the shared cache: who knows whose queries these are.
                encodings = PrivateStore(self._store).get(list(texts))
                self._candidates = CandidatePoints(digest, unit_rows(encodings), self.rows)
            return self._candidates


class CandidatePoints:
    """Queries as points, and for each of them ln Z = ln sum over the pool of exp(-epsilon d / 2)."""

    def __init__(self, digest: bytes, points: Singles, pool: Singles) -> None:
        """Keep the points, and those of the pool."""
        self.digest, self.points = digest, points
        self._pool = pool
        self._normalizers: dict[float, Floats] = {}
        self._lock = threading.Lock()

    def prepare(self, epsilons: Iterable[float]) -> None:
        """Compute ln Z for several epsilons in one pass over all pairs; where it is known, not again."""
        with self._lock:
            wanted = sorted(set(epsilons) - set(self._normalizers))
            if wanted:
                logs = log_normalizers(self.points, self._pool, wanted)
                self._normalizers |= {one: logs[:, column].copy() for column, one in enumerate(wanted)}

    def log_normalizers(self, epsilon: float) -> Floats:
        """Return ln Z of every query, with an error of at most `distances.error_bound`."""
        self.prepare([epsilon])
        return self._normalizers[epsilon]


def check_encoder(mechanism: str, value: object, example: str) -> None:
    """Refuse what cannot be the name of an encoder."""
    if not isinstance(value, str) or not value.strip():
        raise SpecError(f"{mechanism}: encoder must be the name of an encoder, for instance {example!r}.")


_lock = threading.Lock()
_encoded: "weakref.WeakKeyDictionary[QueryPool, dict[str, EncodedPool]]" = weakref.WeakKeyDictionary()
