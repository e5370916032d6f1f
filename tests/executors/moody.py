"""An encoder without a model that workers load with the test's words, and whose mood tests set there."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quipukit.encoders.base import Encoder, Kind, Piece

MOOD = [""]


class Words(Encoder):
    """The mean of random word vectors; no worker knows it by name, so it is sent."""

    name, dimension, fingerprint = "moody words", 24, "moody-words"

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        if MOOD[0] == "slow":
            time.sleep(0.05)
        if MOOD[0] == "failing":
            raise ValueError(f"cannot encode {texts[0]!r}")
        rows = np.array([np.mean([_word(word) for word in text.split() or [""]], axis=0) for text in texts])
        if MOOD[0] == "rounded":
            rows = rows.astype(np.float16)
        yield np.arange(len(texts)), (rows * (1 + 1e-6 * (MOOD[0] == "nudged"))).astype(np.float32)


def _word(word: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.random.default_rng(list(hashlib.sha256(word.encode()).digest())).standard_normal(Words.dimension)


def set_mood(mood: str) -> None:
    """Set how the encoder behaves in this process: slow, failing, rounded, nudged, or as it should."""
    MOOD[0] = mood
