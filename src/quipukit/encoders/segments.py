"""Vectors in a shared folder: many files that are written once, each by one process, and never changed.

Workers write what they encode, and only the names of the files pass through the process that asked for it. A segment
holds the keys of its rows (128 bits each) and the rows, behind a head with their number and a checksum. It is written
under another name and renamed when it is on the disk: it is complete or absent, whoever dies meanwhile, and nobody
waits for a lock. Two segments with the same keys hold the same vectors, so that work done twice does no harm. Whoever
reads the rows of a segment first compares them with the checksum.
"""

import contextlib
import functools
import hashlib
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.rowfile import Keys, Precision, Rows, Vectors, find_rows
from quipukit.errors import ResourceError
from quipukit.storage import make_folder

SUFFIX = ".rows"
_UNFINISHED = ".part"
_LEFT_AFTER = 3600.0  # seconds after which a file that nobody finished is one that nobody will
_MAGIC = b"quipuseg"
_HEAD = np.dtype([("magic", "S8"), ("count", "<u8"), ("dimension", "<u8"), ("check", "V16")])
_MAPPED = 64  # files that are open at a time; their number is limited


@dataclass(frozen=True)
class Segment:
    """A file of rows, by its name, and how many it has."""

    name: str
    count: int


def write_segment(folder: Path, keys: Keys, vectors: Vectors, precision: Precision) -> Segment:
    """Write rows to a file of their own; on return they are on the disk."""
    rows = np.ascontiguousarray(vectors, precision)
    content = np.ascontiguousarray(keys).tobytes(), rows.tobytes()
    head = np.zeros(1, _HEAD)
    head["magic"], head["count"], head["dimension"] = _MAGIC, *rows.shape
    head["check"] = _checksum(content)
    name = f"{secrets.token_hex(16)}{SUFFIX}"
    make_folder(folder)
    draft = folder / f".{name}{_UNFINISHED}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.writelines((head.tobytes(), *content))
            file.flush()
            os.fsync(file.fileno())
        draft.rename(folder / name)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return Segment(name, len(rows))


class Segments:
    """The rows of all segments of a folder, found by key: what a RowFile is, for many writers."""

    def __init__(self, folder: Path, dimension: int, precision: Precision = "float32") -> None:
        """Name the folder; nothing is written before the first append."""
        self.dimension, self.precision = dimension, precision
        self._folder = folder / precision
        self._segments: list[Segment] = []
        self._names: set[str] = set()
        self._new: list[Keys] = []
        self._keys = np.empty((0, 2), np.uint64)
        self._order = np.empty(0, np.int64)  # of the keys, without the new ones
        self._firsts = np.empty(0, np.uint64)  # their first halves in that order
        _remove_unfinished(self._folder)

    @property
    def folder(self) -> Path:
        """Return where the segments lie."""
        return self._folder

    def __len__(self) -> int:
        return sum(segment.count for segment in self._segments)

    @property
    def identity(self) -> bytes:
        """Return nothing: rows keep their numbers, for segments are only added."""
        return b""

    def refresh(self) -> None:
        """Take note of segments that were added since the last look, by any process."""
        with contextlib.suppress(FileNotFoundError):
            for name in sorted(entry.name for entry in os.scandir(self._folder)):
                if name.endswith(SUFFIX) and name not in self._names and (keys := self._read_keys(name)) is not None:
                    self.adopt(Segment(name, len(keys)), keys)

    def adopt(self, segment: Segment, keys: Keys) -> Rows:
        """Take note of a segment whose keys are known, and return the numbers of its rows."""
        start = len(self)
        self._names.add(segment.name)
        self._segments.append(segment)
        self._new.append(keys)
        return np.arange(start, start + segment.count)

    def append(self, keys: Keys, vectors: Vectors) -> Rows:
        """Add rows and return where they are; on return they are on the disk."""
        return self.adopt(write_segment(self._folder, keys, vectors, self.precision), keys)

    def find(self, keys: Keys) -> Rows:
        """Return the row of every key, -1 where there is none; of two rows with one key the last."""
        if not self._segments or not len(keys):
            return np.full(len(keys), -1, np.int64)
        if self._new:
            self._sort()
        return find_rows(self._keys, self._order, keys, self._firsts)

    def _sort(self) -> None:
        """Put new keys into order, and those between the others: a long log comes in many parts."""
        new = np.concatenate(self._new)
        own = np.argsort(new[:, 0], kind="stable")
        # After those that are equal: of two rows with one key the last is found.
        places = np.searchsorted(self._firsts, new[own, 0], side="right")
        self._order = np.insert(self._order, places, own + len(self._keys))
        self._firsts = np.insert(self._firsts, places, new[own, 0])
        self._keys, self._new = np.concatenate([self._keys, new]), []

    def matrix(self) -> "SegmentRows":
        """Return all rows, read where they are used."""
        return SegmentRows(self._folder, tuple(self._segments), self.dimension, self.precision)

    def turn(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Do not wait: what two processes encode at once is the same, and takes its place twice."""
        return contextlib.nullcontext()

    def _read_keys(self, name: str) -> Keys | None:
        """Return the keys of a segment; None where it is of another kind, or vanishes."""
        try:
            with (self._folder / name).open("rb") as file:
                head = np.frombuffer(file.read(_HEAD.itemsize), _HEAD)
                if not len(head) or head["magic"][0] != _MAGIC or head["dimension"][0] != self.dimension:
                    return None
                count = int(head["count"][0])
                keys = np.frombuffer(file.read(16 * count), "<u8").reshape(-1, 2)
                return keys if len(keys) == count else None
        except FileNotFoundError:
            return None


class SegmentRows:
    """Rows of segments, numbered one segment after the other. It travels by the names of those that it has."""

    def __init__(self, folder: Path, segments: tuple[Segment, ...], dimension: int, precision: Precision) -> None:
        """Name the segments; nothing is read."""
        self.folder, self.segments, self.precision = folder, segments, precision
        self._starts = np.concatenate([[0], np.cumsum([one.count for one in segments], dtype=np.int64)])
        self.shape = (int(self._starts[-1]), dimension)

    def __reduce__(self) -> tuple[Any, ...]:
        return SegmentRows, (self.folder, self.segments, self.shape[1], self.precision)

    def __getitem__(self, rows: Any) -> Vectors:
        wanted = np.asarray(rows)
        flat = wanted.reshape(-1)
        vectors = np.empty((len(flat), self.shape[1]), self.precision)
        of = np.searchsorted(self._starts, flat, side="right") - 1
        order = np.argsort(of, kind="stable")
        numbers, begins = np.unique(of[order], return_index=True)
        for number, here in zip(numbers.tolist(), np.split(order, begins[1:]), strict=bool(len(numbers))):
            vectors[here] = self._mapped(self.segments[number])[flat[here] - self._starts[number]]
        return vectors.reshape(*wanted.shape, self.shape[1])

    def parts(self, rows: Rows) -> "tuple[SegmentRows, Rows]":
        """Return the segments alone that some rows lie in, and what the rows are called there."""
        of = np.searchsorted(self._starts, rows, side="right") - 1
        chosen, place = np.unique(of, return_inverse=True)
        own = SegmentRows(self.folder, tuple(self.segments[one] for one in chosen.tolist()), *self._kind)
        return own, rows - self._starts[of] + own._starts[place]

    @property
    def _kind(self) -> tuple[int, Precision]:
        return self.shape[1], self.precision

    def _mapped(self, segment: Segment) -> Vectors:
        return _map(self.folder / segment.name, segment.count, *self._kind)


@functools.lru_cache(maxsize=_MAPPED)
def _map(path: Path, count: int, dimension: int, precision: Precision) -> "NDArray[Any]":
    """Map the rows of a segment, once they were compared with its checksum."""
    try:
        content = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as fault:
        raise ResourceError(
            f"{path} cannot be read ({type(fault).__name__}); see that this machine has the shared folder, then run "
            "the same command."
        ) from fault
    begin = _HEAD.itemsize + 16 * count
    size = count * dimension * np.dtype(precision).itemsize
    head = np.frombuffer(content[: _HEAD.itemsize].tobytes(), _HEAD)
    parts = content[_HEAD.itemsize : begin], content[begin:]
    if len(content) != begin + size or head["check"][0].tobytes() != _checksum(part.data for part in parts):
        with contextlib.suppress(OSError):
            path.rename(path.with_suffix(".damaged"))
        raise ResourceError(
            f"{path} is damaged, and was put aside; run the same command, which encodes its texts anew."
        )
    return np.asarray(content[begin:]).view(precision).reshape(count, dimension)


def _checksum(parts: "Iterable[Any]") -> bytes:
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.digest()[:16]


def _remove_unfinished(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(_UNFINISHED) and time.time() - entry.stat().st_mtime > _LEFT_AFTER:
                os.unlink(entry.path)
