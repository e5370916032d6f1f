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
    much form counts beside meaning where the nearest leaf of a query outside the pool is sought: among queries that are
    written in another way, it would be found by its style. A tenth takes a third of the risk there, and hardly any
    utility (docs/covers.md).

    >>> Description("static:default").of(["what is a cat", "cat food"]).shape[0]
    2
    """

    encoder: str = "minilm"
    levels: int = 1
    weight: float = 0.1

    @property
    def identity(self) -> list[Any]:
        """Return what a file keeps of it."""
        return [self.encoder, self.levels, self.weight]

    def of(self, texts: Sequence[str]) -> Singles:
        """Return what queries mean, a line for each."""
        return np.asarray(self._encoder.encode(list(texts)), np.float32)

    def nearest(self, texts: Sequence[str], means: Singles, usual: Singles) -> "NDArray[np.int64]":
        """Return the number of the leaf that each query is most like: by its unit mean, and by its usual form.

        Of level ones it is the first: the same on every machine, and whatever other queries are asked for beside it.
        """
        alike = self.of(texts) @ means.T
        if self.weight:
            own = forms(texts)
            squares = (own**2).sum(axis=1)[:, None] - 2 * own @ usual.T + (usual**2).sum(axis=1)
            alike -= np.float32(self.weight) * squares
        return np.argmax(np.round(alike, 5), axis=1)

    def __reduce__(self) -> tuple[Any, ...]:
        # By name: a loaded encoder cannot travel to other processes, and they have their own.
        return type(self), tuple(self.identity)

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return load_encoder(self.encoder)
