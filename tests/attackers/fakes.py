"""An encoder and attackers that are quick and plain."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from quipukit.attackers.base import Attacker
from quipukit.encoders.base import Encoder, Kind, Piece


class Bag(Encoder):
    """A text's vector is the sum of fixed random vectors of its words; case does not matter."""

    name, dimension, fingerprint = "bag", 24, "bag-1"

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        for number, text in enumerate(texts):
            words = [np.random.default_rng(zlib.crc32(word.encode())) for word in text.lower().split()]
            vector = sum((rng.standard_normal(24) for rng in words), np.zeros(24))
            yield np.array([number]), vector[None].astype(np.float32)


class Overlap(Attacker):
    """Counts the words that a query shares with what was sent; ties are frequent."""

    name, summary = "Overlap", "counts common words"

    def prepare(self, log, progress=None):
        self.words = [set(text.lower().split()) for text in log.texts]

    def scores(self, sent):
        seen = set(" ".join(sent.texts).lower().split())
        return np.array([len(words & seen) for words in self.words], float)
