"""An append-only file of vectors with an index of keys: rows are complete or absent, wherever writing stops.

Two files. ``rows`` holds the vectors, nothing else. ``index`` begins with a record that names the file (so that one
deleted and created again is not taken for the old one); then follows a record for every row, with its key (128 bits)
and a checksum over the key and the row. An append writes the rows, waits until they are on the disk, and only then
writes their records. What a crash leaves is therefore rows without records, or part of a record: both are cut off
before the next append. Readers take no lock, since a record never precedes its row; writers take turns by a lock on a
file, which the system releases when a process dies. A row that does not agree with its checksum counts as missing.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from quipukit.storage import make_folder

Keys = NDArray[np.uint64]  # (n, 2)
Rows = NDArray[np.int64]
Vectors = NDArray[np.floating]
Precision = Literal["float32", "float16"]

_RECORD = np.dtype([("key", "<u8", (2,)), ("check", "<u8")])
# "quipukt2": format 2. In format 1 the keys were plain hashes, and vectors of private texts stood among the others:
# such a file counts as none, and what is in it is cut off by the first append.
_MAGIC = np.uint64(0x71756970756B7432)
_CHECKED_AT_ONCE = 4096
_GOLDEN = 0x9E3779B97F4A7C15


class RowMemory:
    """Vectors in memory, found by key: what a RowFile is, without the file."""

    def __init__(self, dimension: int) -> None:
        """Begin with nothing."""
        self._matrix = np.empty((0, dimension), np.float32)  # with capacity to grow
        self._count = 0
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def identity(self) -> bytes:
        """Return nothing: this is the only one."""
        return b""

    def refresh(self) -> None:
        """Do nothing: no other process writes here."""

    def find(self, keys: Keys) -> Rows:
        """Return the row of every key, -1 where there is none; of two rows with one key the last."""
        return np.array([self._places.get(key, -1) for key in _as_bytes(keys)], np.int64)

    def matrix(self) -> Vectors:
        """Return all rows; what is appended later leaves them as they are."""
        return self._matrix[: self._count]

    def append(self, keys: Keys, vectors: Vectors) -> Rows:
        """Add rows and return where they are."""
        start, stop = self._count, self._count + len(keys)
        if stop > len(self._matrix):
            larger = np.empty((max(stop, 2 * len(self._matrix)), self._matrix.shape[1]), np.float32)
            larger[:start] = self.matrix()
            self._matrix = larger
        self._matrix[start:stop] = vectors
        self._places.update(zip(_as_bytes(keys), range(start, stop), strict=True))
        self._count = stop
        return np.arange(start, stop)

    def turn(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Do not wait: there is no other writer."""
        return contextlib.nullcontext()


class RowFile:
    """Vectors on disk, found by key."""

    def __init__(self, folder: Path, dimension: int, precision: Precision = "float32") -> None:
        """Name the files; nothing is written before the first append."""
        self.dimension = dimension
        self.precision: Precision = precision
        self._folder = folder
        self._rows = folder / f"rows.{precision}"
        self._index = folder / f"index.{precision}"
        self._row_bytes = dimension * np.dtype(precision).itemsize
        # Odd multipliers that differ: a change of any one word, or an exchange of two, changes the sum.
        self._weights = (np.arange(1, dimension + 1, dtype=np.uint64) * np.uint64(_GOLDEN)) | np.uint64(1)
        self._forget()

    def _forget(self) -> None:
        self._records = np.empty(0, _RECORD)
        self._order: Rows | None = None
        self._sound = np.empty(0, bool)
        self._name = b""

    def __len__(self) -> int:
        return len(self._records)

    @property
    def identity(self) -> bytes:
        """Return the name of the file as it was last read; one that is made again has another."""
        return self._name

    # --- reading ------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take note of what was appended since the last look, by this process or another."""
        count, name = self._committed()
        if name != self._name or count < len(self):
            self._forget()
            self._name = name
        if count > len(self):
            with self._index.open("rb") as file:
                file.seek(_end(len(self)))
                new = np.frombuffer(file.read(_end(count) - _end(len(self))), _RECORD)
            self._extend(new, sound=False)

    def find(self, keys: Keys) -> Rows:
        """Return the row of every key, -1 where there is none or it is damaged; of two rows with one key the last."""
        if not len(self) or not len(keys):
            return np.full(len(keys), -1, np.int64)
        known = self._records["key"]
        if self._order is None:
            self._order = np.argsort(known[:, 0], kind="stable")
        rows = find_rows(known, self._order, keys)
        present = np.unique(rows[rows >= 0])
        self._check(present[~self._sound[present]])
        rows[(rows >= 0) & ~self._sound[rows]] = -1
        return rows

    def matrix(self) -> Vectors:
        """Return all rows, mapped into memory: what is not touched is not read.

        Each call maps them anew, and what was read goes with the mapping: pages that nobody needs are not kept.
        """
        if not len(self):
            return np.empty((0, self.dimension), self.precision)
        return np.memmap(self._rows, self.precision, "r", shape=(len(self), self.dimension))

    def _check(self, rows: Rows) -> None:
        """Compare rows with their checksums, each row once in the life of this object."""
        matrix = self.matrix()
        for start in range(0, len(rows), _CHECKED_AT_ONCE):
            part = rows[start : start + _CHECKED_AT_ONCE]
            records = self._records[part]
            self._sound[part] = self._checksums(records["key"], matrix[part]) == records["check"]

    def _checksums(self, keys: Keys, rows: Vectors) -> NDArray[np.uint64]:
        words = np.ascontiguousarray(rows).view(np.uint32 if self.precision == "float32" else np.uint16)
        sums: NDArray[np.uint64] = np.einsum("ij,j->i", words.astype(np.uint64), self._weights)
        # The key takes part: a row in the wrong place, and a row and record of zeros, do not agree.
        return sums + (keys[:, 0] ^ (keys[:, 1] * np.uint64(_GOLDEN))) + np.uint64(_GOLDEN)

    def _committed(self) -> tuple[int, bytes]:
        """Return the number of rows that have a record, and the name of the file; no name where there is none."""
        try:
            with self._index.open("rb") as file:
                head = file.read(_RECORD.itemsize)
                records = os.fstat(file.fileno()).st_size // _RECORD.itemsize - 1
            rows = self._rows.stat().st_size // self._row_bytes
        except FileNotFoundError:
            return 0, b""
        if len(head) < _RECORD.itemsize or np.frombuffer(head, _RECORD)["check"][0] != _MAGIC:
            return 0, b""
        return min(records, rows), head

    def _extend(self, records: NDArray[np.void], sound: bool) -> None:
        self._records = np.concatenate([self._records, records])
        self._sound = np.concatenate([self._sound, np.full(len(records), sound)])
        self._order = None

    # --- writing ------------------------------------------------------------------------------------------------

    def append(self, keys: Keys, vectors: Vectors) -> Rows:
        """Add rows and return where they are; on return they are on the disk."""
        vectors = np.ascontiguousarray(vectors, self.precision)
        records = np.empty(len(keys), _RECORD)
        records["key"] = keys
        records["check"] = self._checksums(keys, vectors)
        with self.turn("append"):
            self.refresh()
            start, new = len(self), not self._name
            with _open(self._rows) as rows, _open(self._index) as index:
                _write(rows, start * self._row_bytes, vectors)
                if new:
                    self._name = os.urandom(16) + _MAGIC.tobytes()
                    _write(index, 0, np.frombuffer(self._name, _RECORD))
                _write(index, _end(start), records)
            if new:
                _sync_folder(self._folder)
        self._extend(records, sound=True)
        return np.arange(start, start + len(keys))

    @contextlib.contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait for one's turn among all processes and threads that use the folder."""
        make_folder(self._folder)
        handle = os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)  # releases the lock


def find_rows(known: Keys, order: Rows, keys: Keys, firsts: "NDArray[np.uint64] | None" = None) -> Rows:
    """Return the row of every key among known ones, in the order of their first halves; -1 where there is none.

    ``firsts`` are those halves in order, where they are at hand: then nothing is looked up through ``order``.
    """
    wanted = np.ascontiguousarray(keys[:, 0])
    by = np.argsort(wanted)  # neighbors are looked for near each other: millions take a tenth of the time
    place = np.empty(len(keys), np.int64)
    if firsts is None:
        place[by] = np.searchsorted(known[:, 0], wanted[by], side="right", sorter=order) - 1
    else:
        place[by] = np.searchsorted(firsts, wanted[by], side="right") - 1
    rows = order[np.maximum(place, 0)]
    rows[(place < 0) | (known[rows, 0] != wanted)] = -1
    there = np.flatnonzero(rows >= 0)
    rows[there[known[rows[there], 1] != keys[there, 1]]] = -1
    return rows


def _as_bytes(keys: Keys) -> list[bytes]:
    joined = np.ascontiguousarray(keys).tobytes()
    return [joined[start : start + 16] for start in range(0, len(joined), 16)]


def _open(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b", buffering=0)


def _end(count: int) -> int:
    """Return where the record of row ``count`` begins: the file's own record comes first."""
    return (count + 1) * _RECORD.itemsize


def _write(file: BinaryIO, end: int, content: NDArray[Any]) -> None:
    """Cut off what stands behind the committed end, write, and wait for the disk."""
    file.truncate(end)
    file.seek(end)
    left = memoryview(content.tobytes())
    while left:
        left = left[file.write(left) :]
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
