"""Encode once, keep on disk: public texts in a cache that all runs share, the user's own texts apart from it.

A store belongs to one encoder's fingerprint. Texts are found by a 128-bit hash over the encoder's variant (its
prefix) and the exact text: whether case matters is the model's business. No text is ever written, and the hash is made
with the secret of this installation, so that nobody can look up a guess. But a vector is itself a way to test guesses,
for the models are public. Hence two kinds of store:

- `EncodingStore`, the shared cache, is for texts that say nothing about the user: a query log, *all* documents of a
  collection. Which of them are there must not depend on a query either: the documents that a query found reveal it.
- `PrivateStore` reads that cache and never writes to it. What it has to encode stays in memory, or in the folder of a
  run, which holds the queries anyway.
"""

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder, Kind, Piece, checked
from quipukit.encoders.encodings import PRIVATE, Encodings
from quipukit.encoders.rowfile import Keys, Precision, RowFile, RowMemory, Rows, Vectors
from quipukit.encoders.segments import SegmentRows, Segments
from quipukit.errors import ResourceError
from quipukit.progress import Progress, part_of
from quipukit.secret import keyed_hash
from quipukit.storage import cache_home
from quipukit.text import PackedTexts

if TYPE_CHECKING:
    from quipukit.encoders.distributed import DistributedEncoder

# Vectors are written after this many rows or seconds: the most that a kill can cost.
_SAVE_ROWS = 65_536
_SAVE_SECONDS = 5.0
# Below this, waiting for another process that encodes would take longer than encoding.
_SMALL = 256
_AT_ONCE = 1_000_000  # texts that are looked up, and encoded, before the next ones
_TRIES = 3  # another process may delete the folder meanwhile


class EncodingStore:
    """Vectors of public texts on disk: what was encoded once, by whichever process, is read from then on."""

    _elsewhere = "set QUIPUKIT_HOME to another folder"
    _first = 0  # the number of the first row

    def __init__(
        self,
        encoder: Encoder,
        folder: Path | None = None,
        precision: Precision | None = None,
        *,
        shared_by: "DistributedEncoder | None" = None,
    ) -> None:
        """Open the store of an encoder, under ``folder`` or quipukit's own cache.

        ``precision`` is the encoder's own unless it is given; ``float16`` takes half the space. ``shared_by`` has
        workers write to ``folder``, which all of them see.
        """
        self.encoder = encoder
        self.folder = (folder or cache_home() / "encodings") / encoder.fingerprint
        kept = precision or encoder.precision
        self._shared_by = shared_by
        self._key = None if shared_by is None else shared_by.key
        self._file: RowFile | RowMemory | Segments = (
            RowFile(self.folder, encoder.dimension, kept)
            if shared_by is None
            else Segments(self.folder, encoder.dimension, kept)
        )
        self._lock = threading.RLock()

    def __len__(self) -> int:
        with self._lock, self._faults():
            self._file.refresh()
            return len(self._file)

    def get(self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None) -> NDArray[np.float32]:
        """Return the vectors of texts as one array in memory."""
        return self.ensure(texts, kind, progress)[:]

    def ensure(self, texts: Sequence[str], kind: Kind = "query", progress: Progress | None = None) -> Encodings:
        """Encode what is not there yet and return a view on the vectors of all texts.

        New vectors are saved while they are made, so that an interrupted run resumes where it stopped.
        ``progress(done, total)`` counts the texts that had to be encoded.
        """
        with self._lock:
            for _ in range(_TRIES):
                rows, first = np.empty(len(texts), np.int64), None
                # A million after the other: texts, keys and what finds them are not held for all of a long log.
                for start in range(0, max(1, len(texts)), _AT_ONCE):
                    some = texts if len(texts) <= _AT_ONCE else texts[start : start + _AT_ONCE]
                    if self._shared_by is None and isinstance(some, PackedTexts):  # each is looked at
                        some = list(some)
                    part = progress if some is texts else part_of(progress, start, len(some), len(texts))
                    rows[start : start + len(some)] = self._rows(some, kind, part)
                    first = first or self._identity()
                if first == self._identity():
                    return self.view(rows)
            raise self._lost()

    def _rows(self, texts: Sequence[str], kind: Kind, progress: Progress | None) -> Rows:
        """Return the rows of texts, once those that are not there were encoded."""
        keys = self.keys(texts, kind)
        for _ in range(_TRIES):
            rows = self._find(keys)
            missing = np.flatnonzero(rows < 0)
            if not len(missing):
                return rows
            # Two processes that need the same texts take turns, and the second finds them encoded.
            with self._turn() if len(missing) > _SMALL else contextlib.nullcontext():
                new = self._encode(texts, kind, keys, missing, progress)
            if new is not None and (new[missing] >= 0).all():
                rows[missing] = self._first + new[missing]
                return rows
        raise self._lost()

    def _lost(self) -> ResourceError:
        return ResourceError(f"{self.folder} does not keep what is written to it; {self._elsewhere}.")

    def _identity(self) -> bytes:
        """Return what names the file whose rows are numbered: one that was deleted and made again is another."""
        return self._file.identity

    def lookup(self, keys: Keys) -> Encodings | None:
        """Return a view on the vectors of keys, or nothing where one of them is not there."""
        with self._lock:
            rows = self._find(keys)
            return None if (rows < 0).any() else self.view(rows)

    def missing(self, texts: Sequence[str], kind: Kind = "query") -> int:
        """Return how many distinct texts are not encoded yet."""
        with self._lock:
            keys = self.keys(texts, kind)
            return len(first_of_equal(keys[self._find(keys) < 0]))

    def view(self, rows: Rows) -> Encodings:
        """Return a view on rows that ``ensure`` gave."""
        with self._lock, self._faults():
            return Encodings(self._file.matrix(), rows)

    def matrix(self) -> "Vectors | SegmentRows":
        """Return all vectors, mapped into memory."""
        with self._lock, self._faults():
            return self._file.matrix()

    def keys(self, texts: Sequence[str], kind: Kind) -> Keys:
        """Return the keys under which texts are kept."""
        return keys_of(texts, self.encoder.variant(kind), self._key)

    def _encode(
        self, texts: Sequence[str], kind: Kind, keys: Keys, missing: Rows, progress: Progress | None
    ) -> Rows | None:
        """Encode texts that are missing; return the rows of those that workers wrote, -1 for all others."""
        if self._shared_by is None:  # another process may have encoded them while this one waited for its turn
            missing = missing[self._find(keys[missing]) < 0]
        wanted = missing[first_of_equal(keys[missing])]
        kept: list[Piece] = []
        done, pending, since = 0, 0, time.monotonic()

        def save() -> None:
            nonlocal kept, since, pending
            if kept:
                where = np.concatenate([positions for positions, _ in kept])
                with self._faults():
                    self._file.append(keys[wanted[where]], np.concatenate([piece for _, piece in kept]))
            kept, since, pending = [], time.monotonic(), 0

        if isinstance(self._file, Segments) and self._shared_by is not None:
            rows = np.full(len(texts), -1, np.int64)
            for positions, segment in self._shared_by.written(texts, wanted, kind, keys, self._file):
                own = wanted[positions]
                rows[own] = self._file.adopt(segment, keys.take(own, axis=0))
                done += len(positions)
                if progress:
                    progress(done, len(wanted))
            return rows
        try:
            for positions, piece in self.encoder.checked_pieces([texts[place] for place in wanted.tolist()], kind):
                kept.append((positions, piece))
                pending += len(positions)
                done += len(positions)
                if pending >= _SAVE_ROWS or time.monotonic() - since > _SAVE_SECONDS:
                    save()
                if progress:
                    progress(done, len(wanted))
        finally:
            save()  # also what was ready when the user interrupted
        return None

    def _find(self, keys: Keys) -> Rows:
        with self._faults():
            self._file.refresh()
            return self._file.find(keys)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            with self._faults():
                stack.enter_context(self._file.turn("encode"))
            yield

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            reason = fault.strerror or type(fault).__name__
            raise ResourceError(
                f"{self.folder} cannot be used ({reason}); make room there, or {self._elsewhere}."
            ) from fault


def keys_of(texts: Sequence[str], variant: str, key: bytes | None) -> Keys:
    """Return the keys of texts: hashes over an encoder's variant and the text, made with a secret key.

    Without one it is that of this installation. A key of one's own is that of a folder that workers share, through
    which long logs go.
    """
    prefix = variant.encode("utf-8", "surrogatepass")
    start = keyed_hash(16, b"%d:" % len(prefix) + prefix, key)
    if key is not None:
        from quipukit.siphash import siphash  # numba, which takes a second to load

        return siphash(checked(texts), start.digest())
    digests = bytearray()
    for text in checked(texts):
        one = start.copy()
        one.update(text.encode("utf-8", "surrogatepass"))
        digests += one.digest()
    return np.frombuffer(digests, "<u8").reshape(-1, 2)


def first_of_equal(keys: Keys) -> Rows:
    """Return the rows of keys that no earlier row has.

    >>> first_of_equal(np.array([[1, 1], [2, 1], [1, 1], [1, 2]], np.uint64)).tolist()
    [0, 1, 3]
    """
    halves = np.sort(np.ascontiguousarray(keys[:, 0]))
    if (halves[1:] != halves[:-1]).all():  # nearly always, and a tenth of the work
        return np.arange(len(keys))
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # which keeps equal ones in order
    ordered = keys[order]
    new = np.ones(len(keys), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.sort(order[new])


class PrivateStore(EncodingStore):
    """Vectors of the user's own texts: read from a shared store where it has them, kept apart from it where not."""

    _elsewhere = "name another folder for the run"
    _first = PRIVATE

    def __init__(self, shared: EncodingStore, folder: Path | None = None) -> None:
        """Stand before a shared store; new vectors go to the memory of this process, or below ``folder``."""
        self.shared = shared
        super().__init__(shared.encoder, folder, shared_by=shared._shared_by if folder is not None else None)
        self._key = shared._key  # a text is looked for in both
        if folder is None:
            self._file = RowMemory(shared.encoder.dimension)

    def view(self, rows: Rows) -> Encodings:
        """Return a view on rows that ``ensure`` gave."""
        with self._lock, self._faults():
            return Encodings(self.shared.matrix(), rows, self._file.matrix())

    def _identity(self) -> bytes:
        return self.shared._identity() + self._file.identity

    def _find(self, keys: Keys) -> Rows:
        with self.shared._lock:
            rows = self.shared._find(keys)
        others = np.flatnonzero(rows < 0)
        own = super()._find(keys[others])
        rows[others] = np.where(own < 0, -1, own + self._first)
        return rows
