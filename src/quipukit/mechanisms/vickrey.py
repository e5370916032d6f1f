"""Vickrey variants: the second nearest word has its chance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee
from quipukit.mechanisms.base import check_share
from quipukit.mechanisms.mahalanobis import Elliptical
from quipukit.mechanisms.perturbation import Perturbation


def acceptance(nearest: NDArray[np.float64], second: NDArray[np.float64], t: float) -> NDArray[np.float64]:
    """Return the probability of the nearest word: (1 - t) d2 / (t d1 + (1 - t) d2); 1 - t where both are 0.

    >>> acceptance(np.array([1.0]), np.array([3.0]), 0.75)
    array([0.5])
    """
    # By the quotient of the distances: products with the least numbers there are would round to 0.
    quotient = np.divide(nearest, second, out=np.ones_like(second), where=second > 0)
    weight = t * quotient + (1 - t)
    return np.divide(1 - t, weight, out=np.full_like(weight, 1 - t), where=weight > 0)


@dataclass(frozen=True, kw_only=True)
class VickreyCMP(Perturbation):
    """Draw the noisy point as CMP does, then choose between its nearest and its second nearest word.

    The nearest, at distance d1, wins with probability (1 - t) d2 / (t d1 + (1 - t) d2); t = 0 is CMP, t = 1
    always takes the second.

    Guarantee: that of CMP, for every t: the choice looks only at the noisy point and a fresh coin.

    Reference: Xu, Aggarwal, Feyisetan, Teissier. On a utilitarian approach to privacy preserving text generation.
    PrivateNLP 2021.
    """

    name: ClassVar[str] = "VickreyCMP"
    summary: ClassVar[str] = "as CMP, but the second nearest word may win"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Xu et al., PrivateNLP 2021"

    t: float = 0.75

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", check_share(self.name, "t", self.t))
        super().__post_init__()

    @property
    def promise(self) -> Guarantee:
        return super().promise  # the choice is post-processing

    def choose(
        self, found: NDArray[np.int64], distance: NDArray[np.float64], coins: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        alone = found[:, 1] < 0
        second = np.where(alone, distance[:, 0], distance[:, 1])
        first_wins = coins < acceptance(distance[:, 0], second, self.t)
        return np.where(first_wins | alone, found[:, 0], found[:, 1])


@dataclass(frozen=True, kw_only=True)
class VickreyMhl(VickreyCMP, Elliptical):
    """Draw the noisy point as Mahalanobis does, then choose as VickreyCMP does.

    Guarantee: that of Mahalanobis. Reference: as VickreyCMP.
    """

    name: ClassVar[str] = "VickreyMhl"
    summary: ClassVar[str] = "as Mahalanobis, but the second nearest word may win"
    shares_work: ClassVar[bool] = True

    @property
    def promise(self) -> Guarantee:
        return super().promise  # by way of VickreyCMP, that of the ellipsoid
