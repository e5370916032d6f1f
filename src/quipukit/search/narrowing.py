"""What the groups of a session allow together: how many queries of a group are still likely, given the others.

Queries of a session are related. Each released group is a set of candidates for one of them; a candidate a of the group
that is far from all candidates of another group is unlikely. With the score of `attackers.session`,

    score(a) = sum over the other groups g of log mean over b in g of exp(12 cos(a, b)),

the candidates that hold nine tenths of the weight remain. It is an estimate, made in some milliseconds with static word
vectors; stronger encoders narrow further.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.session import unit
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder

_SHARPNESS = 12.0  # as in attackers.session
_LIKELY = 0.9  # of the weight
_OTHERS = 250
_REMEMBERED = 16  # groups whose vectors are held


def remaining(groups: "Sequence[NDArray[np.float32]]") -> list[int]:
    """Return how many candidates of each group are likely, given all the others; rows are vectors of norm 1.

    >>> near, far = np.array([[1.0, 0]], np.float32), np.array([[0, 1.0]], np.float32)
    >>> remaining([np.repeat(near, 4, axis=0), np.vstack([near, far, far, far])])
    [4, 1]
    """
    return [
        _likely(sum(_closeness(own, other) for at, other in enumerate(groups) if at != place))
        for place, own in enumerate(groups)
    ]


def _likely(score: "NDArray[np.float64] | int") -> int:
    """Return how many candidates, by their scores, hold most of the weight."""
    score = np.asarray(score)
    weights = np.sort(np.exp(score - score.max()))[::-1]
    share = np.cumsum(weights) / weights.sum()
    return int(np.searchsorted(share, _LIKELY - 1e-9) + 1)


def _closeness(own: "NDArray[np.float32]", other: "NDArray[np.float32]") -> NDArray[np.float64]:
    # Some of the others stand for all, spread evenly: the mean over them is much the same.
    others = other[:: -(-len(other) // _OTHERS)]
    terms = np.exp(np.float32(_SHARPNESS) * (own @ others.T - 1)).mean(axis=1, dtype=np.float64)
    return np.log(terms + 1e-300)


@dataclass(eq=False)
class Narrowing:
    """Estimates for groups of texts; what was computed for the last ones is remembered."""

    encoder: str = "static"
    _vectors: "dict[int, NDArray[np.float32]]" = field(default_factory=dict, init=False, repr=False)
    _close: "dict[tuple[int, int], NDArray[np.float64]]" = field(default_factory=dict, init=False, repr=False)

    @functools.cached_property
    def _model(self) -> Encoder:
        return load_encoder(self.encoder)

    def counts(self, groups: "dict[int, Sequence[str]]") -> dict[int, int]:
        """Return how many queries of each group, by its number, are still likely."""
        if len(groups) < 2:
            return {number: len(texts) for number, texts in groups.items()}
        for number, texts in groups.items():
            if number not in self._vectors:
                self._vectors[number] = unit(self._model.encode(list(texts)))
        for pair in itertools.permutations(groups, 2):
            if pair not in self._close:
                self._close[pair] = _closeness(self._vectors[pair[0]], self._vectors[pair[1]])
        counts = {own: _likely(sum(self._close[own, other] for other in groups if other != own)) for own in groups}
        for number in [one for one in list(self._vectors)[:-_REMEMBERED] if one not in groups]:
            del self._vectors[number]
        self._close = {pair: close for pair, close in self._close.items() if self._vectors.keys() >= set(pair)}
        return counts
