"""Encode texts on the workers of an executor."""

import hashlib
import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.executors.base import Executor, current_worker

# A chunk of texts is some seconds of work: little is lost with a worker, and batches are full all the same.
_LEAST_TEXTS, _MOST_TEXTS, _MOST_LETTERS = 64, 2048, 600_000
# Encoded once by every process: machines whose arithmetic differs show it here.
_PROBE = ("what is hidden", "a somewhat longer text, so that two lengths are compared")


def distributed(encoder: Encoder, executor: Executor) -> Encoder:
    """Return an encoder that has its texts encoded by an executor's workers; the encoder itself without workers."""
    return encoder if executor.in_process else DistributedEncoder(encoder, executor)


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
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        with self._executor as executor:
            most = max(_LEAST_TEXTS, min(_MOST_TEXTS, -(-len(texts) // executor.parts())))
            chunks = chunks_by_length(lengths, most)
            items = (_Chunk(self._encoder, [texts[place] for place in chunk], kind) for chunk in chunks)
            for number, encoded in executor.map(_encode, items):
                self._compare(encoded)
                yield chunks[number], encoded.vectors

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


def chunks_by_length(lengths: NDArray[np.int64], most: int) -> list[NDArray[np.int64]]:
    """Divide texts of some lengths into chunks of a limited number of texts and letters, the longest first."""
    order = np.argsort(-lengths, kind="stable")
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
    texts: list[str]
    kind: Kind


@dataclass(frozen=True, eq=False)
class _Encoded:
    """The vectors of a chunk, and what the worker's arithmetic makes of the probe."""

    vectors: NDArray[np.float32]
    worker: str
    probe: str


def _encode(chunk: _Chunk) -> _Encoded:
    vectors = chunk.encoder.encode(chunk.texts, chunk.kind)
    return _Encoded(vectors, current_worker(), _probe(chunk.encoder))


_probes: "weakref.WeakKeyDictionary[Encoder, str]" = weakref.WeakKeyDictionary()


def _probe(encoder: Encoder) -> str:
    if encoder not in _probes:
        _probes[encoder] = hashlib.sha256(encoder.encode(_PROBE).tobytes()).hexdigest()
    return _probes[encoder]
