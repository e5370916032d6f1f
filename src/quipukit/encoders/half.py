"""Vectors of half precision: half the space on disk, and ranks that may differ where queries are nearly level."""

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.executors.shared import loaded_by

SUFFIX = "@float16"


class HalfPrecision(Encoder):
    """An encoder whose vectors are rounded to float16, wherever they are kept; in all else the one it stands for.

    It has a name and a fingerprint of its own: a result says that it was measured with rounded vectors.
    """

    precision = "float16"

    def __init__(self, encoder: Encoder) -> None:
        """Stand for an encoder."""
        self.rounded = encoder
        self.name = f"{encoder.name}{SUFFIX}"
        self.fingerprint = f"{encoder.fingerprint}-float16"
        self.similarity, self.quick = encoder.similarity, encoder.quick
        if encoder.origin is not None:
            loaded_by(self, functools.partial(_made_again, encoder.origin))

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Return the number of coordinates of a vector."""
        return self.rounded.dimension

    def variant(self, kind: Kind) -> str:
        """Return what sets the vectors of a kind apart."""
        return self.rounded.variant(kind)

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        """Encode distinct texts, and round their vectors."""
        for positions, piece in self.rounded.pieces(texts, kind):
            with np.errstate(over="ignore"):  # which is infinite then, and refused
                yield positions, piece.astype(np.float16).astype(np.float32)


def unrounded(encoder: Encoder) -> Encoder:
    """Return the encoder whose vectors are rounded, or one that does not round as it is."""
    return encoder.rounded if isinstance(encoder, HalfPrecision) else encoder


def _made_again(origin: Callable[[], Encoder]) -> HalfPrecision:
    return HalfPrecision(origin())
