"""TEM: the truncated exponential mechanism."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, MetricDP
from quipukit.mechanisms.base import check_number
from quipukit.mechanisms.sampling import ExponentialSampling, SortedRow, invert
from quipukit.mechanisms.words import uniform_rows


@dataclass(frozen=True, kw_only=True)
class TEM(ExponentialSampling):
    """Sample near words by distance, and all far words alike.

    Words within gamma of x compete with score -d(x, y), all others together as one element, under Gumbel noise of
    scale 2/epsilon; that is P(y | x) ~ exp(-(epsilon/2) min(d(x, y), gamma)). For a word of the
    vocabulary ``beta`` bounds the probability of a far word: gamma = (2/epsilon) ln((1 - beta)(|V| - 1) / beta), unless
    ``gamma`` is given. It does not for an unknown word: what stands at the mean of all vectors may have no word within
    gamma, and then every word is far and equally likely.

    Guarantee: epsilon-metric DP: min(d, gamma) is 1-Lipschitz in x.

    Reference: Carvalho, Vasiloudis, Feyisetan. TEM: high utility metric differential privacy on text. SDM 2023.

    >>> from quipukit.vectors.store import Vectors
    >>> line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    >>> round(np.exp(TEM(epsilon=2, gamma=1.5, vectors=line).log_prob("c", "a")), 6).item()
    0.140244
    """

    name: ClassVar[str] = "TEM"
    summary: ClassVar[str] = "near words by distance, all words beyond gamma alike"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Carvalho et al., SDM 2023"

    beta: float = 0.001
    gamma: float | None = None

    def __post_init__(self) -> None:
        far_limit(self.name, 1.0, self.beta, 2)  # says what is wrong with beta
        object.__setattr__(self, "beta", float(self.beta))
        if self.gamma is not None:
            gamma = check_number(self.name, "gamma", self.gamma)
            if gamma < 0:
                raise SpecError(f"{self.name}: gamma must not be negative (found {gamma:g}).")
            object.__setattr__(self, "gamma", gamma)
        super().__post_init__()

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon, scope=self.scope, rounding=self.metric_rounding)

    @property
    def truncation(self) -> float:
        """Return gamma: the distance beyond which all words are alike."""
        return far_limit(self.name, self.epsilon, self.beta, len(self.vectors)) if self.gamma is None else self.gamma

    def law(self, near: SortedRow) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        capped = np.minimum(near.distances, self.truncation)
        return near.rows, -self.epsilon / 2 * (capped - capped[0])

    def sample(self, near: SortedRow, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        # The same law, but the far words, nearly all of them at large epsilon, cost nothing: their weights are
        # equal, so the inverse transform over them is a straight line.
        gamma = self.truncation
        inside = int(np.searchsorted(near.distances, gamma, side="right"))
        outside = len(near.rows) - inside
        nearest = min(float(near.distances[0]), gamma)
        weights = np.exp(-self.epsilon / 2 * (near.distances[:inside] - nearest))
        near_mass = float(weights.sum())
        far_mass = outside * math.exp(-self.epsilon / 2 * (gamma - nearest))
        share = near_mass / (near_mass + far_mass)
        is_near = uniforms < share
        positions = np.empty(uniforms.shape, np.int64)
        if is_near.any():
            positions[is_near] = invert(weights, uniforms[is_near] / share)
        if not is_near.all():
            positions[~is_near] = inside + uniform_rows((uniforms[~is_near] - share) / (1 - share), outside)
        return near.rows[positions]


def far_limit(mechanism: str, epsilon: float, beta: float, words: int) -> float:
    """Return the distance gamma beyond which a word of the vocabulary ends up with probability ``beta`` at most.

    >>> round(far_limit("TEM", 1, 0.001, 400_000), 1)
    39.6
    """
    beta = check_number(mechanism, "beta", beta)
    if not 0 < beta < 1:
        raise SpecError(f"{mechanism}: beta must lie between 0 and 1 (found {beta:g}); try 0.001.")
    others = (1 - beta) * (words - 1) / beta
    return max(0.0, 2 / epsilon * math.log(others)) if others > 0 else 0.0
