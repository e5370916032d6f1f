"""Encoders that need no model: vectors drawn from a hash of the text."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.encoders import store
from quipukit.encoders.base import Encoder, Kind, Piece


class HashEncoder(Encoder):
    """Counts what it encodes, hands it out in small pieces, and takes its time if told to."""

    name = "hash"

    def __init__(self, dimension: int = 8, pause: float = 0.0, tag: str = "1") -> None:
        self.dimension = dimension
        self.fingerprint = f"hash-{dimension}-{tag}"
        self.pause = pause
        self.encoded: list[str] = []

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        # Backwards, because nobody may count on an order.
        for start in range(len(texts) - len(texts) % 16, -1, -16):
            part = list(texts[start : start + 16])
            if part:
                time.sleep(self.pause)
                self.encoded += part
                yield np.arange(start, start + len(part)), np.stack([self.vector(text, kind) for text in part])

    def vector(self, text: str, kind: Kind) -> NDArray[np.float32]:
        """Return the vector that a text has to have."""
        seed = hashlib.sha256(f"{kind}:{text}".encode("utf-8", "surrogatepass")).digest()
        return np.random.default_rng(list(seed)).standard_normal(self.dimension, dtype=np.float32)


def texts(count: int) -> list[str]:
    """Return distinct texts."""
    return [f"private matter number {number}" for number in range(count)]


def fill(folder: str, count: int, pause: float) -> None:
    """Encode into a store in small steps: what a child process does until it is killed."""
    store._SAVE_ROWS = 32
    store.EncodingStore(HashEncoder(pause=pause), Path(folder)).ensure(texts(count), "document")
