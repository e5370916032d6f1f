"""An encoder whose vectors are kept: what an attacker is given, so that a log is encoded once, ever."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.encoders.encodings import Encodings, PlainEncodings
from quipukit.encoders.store import PrivateStore
from quipukit.progress import Progress

_FEW = 200_000  # texts that may be held once more


class StoredEncoder(Encoder):
    """An encoder behind a store: texts are encoded once, and their vectors are read from then on.

    ``public`` are texts that say nothing about the user, such as a query log. Where all of them are asked for they go
    to the cache that all runs share. Every other text stays in the private store; and so do public ones that are asked
    for on their own, because which of them were asked for may depend on a query.

    It is handed to attackers, whose log may have been completed with the originals. So no attribute leads to the store
    or to the public texts, and vectors do not show where they are kept: either would tell which queries were added.
    """

    def __init__(
        self,
        store: PrivateStore,
        public: Sequence[str] = (),
        reordered: "Callable[[], tuple[Sequence[str], Sequence[str], NDArray[np.int64]]] | None" = None,
    ) -> None:
        """Stand for the encoder of a store.

        ``reordered`` gives a long sequence of texts that will be asked for, the texts that follow the public ones, and
        the order in which it holds both: millions of them are then looked up once.
        """
        encoder = store.encoder
        self.name, self.fingerprint, self.similarity = encoder.name, encoder.fingerprint, encoder.similarity
        self.precision = encoder.precision
        self._encoder = encoder

        def kept(texts: Sequence[str], kind: Kind, progress: Progress | None) -> Encodings:
            if reordered is not None and (known := reordered())[0] is texts:
                _, others, order = known
                rows = store.shared.ensure(public, kind, progress).rows, store.ensure(others, kind).rows
                return PlainEncodings(store.view(np.concatenate(rows)[order]))
            if public and holds_all(texts, public):
                store.shared.ensure(public, kind, progress)
            return PlainEncodings(store.ensure(texts, kind, progress))

        self._kept = kept

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a vector; some encoders load their model for it."""
        return self._encoder.dimension

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Encode distinct texts without keeping their vectors."""
        return self._encoder.pieces(texts, kind)

    def variant(self, kind: Kind) -> str:
        """Return what sets the vectors of a kind apart."""
        return self._encoder.variant(kind)

    def vectors(self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None) -> Encodings:
        """Return the vectors of texts; only those that the store lacks are encoded."""
        return self._kept(texts, kind, progress)

    def encode(
        self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return one row for every text, in memory."""
        return self.vectors(texts, kind, progress)[:]


def holds_all(texts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether texts hold all that are wanted; many are compared by 64 bits of each, and not held.

    >>> holds_all(["a", "b", "a"], ["b"]), holds_all(["a", "b"], ["b", "c"])
    (True, False)
    """
    if len(wanted) <= _FEW:
        return set(wanted).issubset(texts)
    if len(texts) < len(wanted):  # those that are wanted differ
        return False
    ours, theirs = (np.fromiter(map(hash, some), np.int64, len(some)) for some in (wanted, texts))
    return bool(np.isin(ours, theirs).all())
