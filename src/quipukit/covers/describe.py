"""What a query is like, as a vector: what it means, and, to a degree, how it is written."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.forms import forms
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Description:
    """What makes queries alike: an encoder, by name, for what they mean, and how much their form counts.

    The first ``levels`` divisions of a pool go by form alone: whether a query asks, how long it is. ``weight`` is how
    much form counts beside meaning where the nearest leaf of a query outside the pool is sought.

    >>> Description("static:default").of(["what is a cat", "cat food"]).shape[0]
    2
    """

    encoder: str = "minilm"
    levels: int = 1
    weight: float = 0.0

    @property
    def identity(self) -> list[Any]:
        """Return what a file keeps of it."""
        return [self.encoder, self.levels, self.weight]

    def of(self, texts: Sequence[str]) -> Singles:
        """Return a line for every query."""
        return self.joined(self._encoder.encode(list(texts)), texts)

    def joined(self, encodings: Singles, texts: Sequence[str]) -> Singles:
        """Return encodings with the form of the queries beside them, where it counts."""
        if not self.weight:
            return np.asarray(encodings, np.float32)
        return np.concatenate([encodings, np.float32(self.weight) * forms(texts)], axis=1).astype(np.float32)

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: a loaded encoder cannot travel to other processes, and they have their own.
        return type(self), tuple(self.identity)

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(self.encoder)
