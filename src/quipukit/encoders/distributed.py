"""Encode texts on the workers of an executor."""

import hashlib
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.encoders.rowfile import Keys, Precision
from quipukit.encoders.segments import Segment, Segments, write_segment
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import ResourceError
from quipukit.executors.base import Executor, current_worker
from quipukit.executors.folder import SharedFolder
from quipukit.executors.shared import Plain
from quipukit.text import PackedTexts, divided, joined

# A chunk of texts is some seconds of work: little is lost with a worker, and batches are full all the same.
_LEAST_TEXTS, _MOST_TEXTS, _MOST_LETTERS = 64, 2048, 600_000
# Where vectors do not travel: a task costs the coordinator as much as looking up a thousand texts.
_MOST_WRITTEN = 8192
# Encoded once by every process: machines whose arithmetic differs show it here.
_PROBE = ("what is hidden", "a somewhat longer text, so that two lengths are compared")


def distributed(encoder: Encoder, executor: Executor) -> Encoder:
    """Return an encoder that has its texts encoded by an executor's workers; the encoder itself without workers."""
    return encoder if executor.in_process else DistributedEncoder(encoder, executor)


def distributed_store(encoder: Encoder, executor: Executor, folder: Path | None = None) -> PrivateStore:
    """Return the vectors of an encoder whose texts an executor's workers encode.

    New vectors of private texts are kept below ``folder``, or in memory without one. Where the workers share a folder,
    they write all vectors there themselves, those of private texts too if they are kept.
    """
    spread = distributed(encoder, executor)
    shared = executor.shared
    if shared is None or not isinstance(spread, DistributedEncoder):
        return PrivateStore(EncodingStore(spread), folder)
    private = None if folder is None else private_folder(shared, folder)
    return PrivateStore(EncodingStore(spread, shared.public, shared_by=spread), private)


def private_folder(shared: SharedFolder, folder: Path) -> Path:
    """Return where in a shared folder those vectors lie that would lie in a folder of this machine."""
    return shared.private(str(folder.resolve()).encode())


class DistributedEncoder(Encoder):
    """An encoder whose texts are encoded by workers; in all else it is the one that it stands for."""

    def __init__(self, encoder: Encoder, executor: Executor) -> None:
        """Stand for an encoder."""
        self._encoder, self._executor = encoder, executor
        self._workers_by_probe: dict[str, str] = {}
        self.name = encoder.name
        self.fingerprint = encoder.fingerprint
        self.similarity, self.precision = encoder.similarity, encoder.precision

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a vector."""
        return self._encoder.dimension

    def variant(self, kind: Kind) -> str:
        """Return what sets the vectors of a kind apart."""
        return self._encoder.variant(kind)

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Have texts encoded in chunks of similar length, and yield the vectors as they arrive."""
        with self._executor as executor:
            chunks = self._chunks(_lengths(texts))
            items = (_Chunk.of(self._encoder, texts, chunk, kind) for chunk in chunks)
            for number, encoded in executor.map(_encode, items):
                self._compare(encoded)
                yield chunks[number], encoded.vectors

    @property
    def key(self) -> bytes | None:
        """Return the key under which texts are named in the folder that the workers share."""
        return None if self._executor.shared is None else self._executor.shared.key

    def written(
        self, texts: Sequence[str], wanted: NDArray[np.int64], kind: Kind, keys: Keys, segments: Segments
    ) -> "Iterator[tuple[NDArray[np.int64], Segment]]":
        """Have some texts encoded and written to a folder that the workers share; yield where their vectors are.

        ``wanted`` are places among the texts and their keys, and what is yielded are places among those that are
        wanted. Keys travel with the texts: no worker needs what they are made with.
        """
        with self._executor as executor:
            chunks = self._chunks(_lengths(texts)[wanted], _MOST_WRITTEN)
            place = segments.folder, segments.precision
            items = (
                _Writing(_Chunk.of(self._encoder, texts, rows, kind), keys.take(rows, axis=0), *place)
                for rows in map(wanted.take, chunks)
            )
            for number, (segment, worker, probe) in executor.map(_write, items):
                self._compare(_Encoded(np.empty((0, 0), np.float32), worker, probe))
                yield chunks[number], segment

    def _chunks(self, lengths: NDArray[np.int64], most: int = _MOST_TEXTS) -> list[NDArray[np.int64]]:
        most = max(_LEAST_TEXTS, min(most, -(-len(lengths) // self._executor.parts())))
        return chunks_by_length(lengths, most)

    def _compare(self, encoded: "_Encoded") -> None:
        """Warn, once, where workers do not agree in the last bits of a vector."""
        known = self._workers_by_probe
        if encoded.probe in known:
            return
        if len(known) == 1:
            (other,) = known.values()
            warnings.warn(
                f"workers {other} and {encoded.worker} differ in the last bits of the vectors of {self.name}: their "
                "processors are of different kinds, and another run may rank near ties otherwise; take one kind.",
                stacklevel=2,
            )
        known[encoded.probe] = encoded.worker


def _lengths(texts: Sequence[str]) -> NDArray[np.int64]:
    return texts.sizes if isinstance(texts, PackedTexts) else np.fromiter(map(len, texts), np.int64, len(texts))


def chunks_by_length(lengths: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Divide texts of some lengths into chunks of a limited number of texts and letters, the longest first."""
    longest = int(lengths.max(initial=0))
    # NumPy sorts short numbers in a tenth of the time.
    order = np.argsort((longest - lengths).astype(np.uint16 if longest < 1 << 16 else np.int64), kind="stable")
    total = np.cumsum(lengths[order])
    chunks, start = [], 0
    while start < len(order):
        before = total[start - 1] if start else 0
        stop = int(np.searchsorted(total, before + _MOST_LETTERS, side="right"))
        stop = max(start + 1, min(stop, start + most))
        chunks.append(order[start:stop])
        start = stop
    return chunks


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Some distinct texts to encode."""

    encoder: Encoder
    texts: Plain[tuple[bytes, Sequence[int] | NDArray[np.int64]]]  # as `joined` has them
    kind: Kind

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], chunk: NDArray[np.int64], kind: Kind) -> "_Chunk":
        """Take some of many texts."""
        if isinstance(texts, PackedTexts):
            return cls(encoder, Plain(texts.packed(chunk)), kind)
        return cls(encoder, Plain(joined([texts[place] for place in chunk.tolist()])), kind)


@dataclass(frozen=True, eq=False)
class _Encoded:
    """The vectors of a chunk, and what the worker's arithmetic makes of the probe."""

    vectors: NDArray[np.float32]
    worker: str
    probe: str


@dataclass(frozen=True, eq=False)
class _Writing:
    """Some distinct texts to encode, and where their vectors go, under which keys."""

    chunk: _Chunk
    keys: Keys
    folder: Path
    precision: Precision


def _write(item: _Writing) -> tuple[Segment, str, str]:
    encoded = _encode(item.chunk)
    try:
        segment = write_segment(item.folder, item.keys, encoded.vectors, item.precision)
    except OSError as fault:
        raise ResourceError(
            f"the shared folder {item.folder} cannot be written ({fault.strerror or type(fault).__name__}); make room "
            "there, or mount it on this machine, then run the same command."
        ) from fault
    return segment, encoded.worker, encoded.probe


def _encode(chunk: _Chunk) -> _Encoded:
    content, sizes = chunk.texts.content
    vectors = chunk.encoder.encode(divided(content, np.asarray(sizes).tolist()), chunk.kind)
    return _Encoded(vectors, current_worker(), _probe(chunk.encoder))


_probes: "weakref.WeakKeyDictionary[Encoder, str]" = weakref.WeakKeyDictionary()


def _probe(encoder: Encoder) -> str:
    if encoder not in _probes:
        _probes[encoder] = hashlib.sha256(encoder.encode(_PROBE).tobytes()).hexdigest()
    return _probes[encoder]
