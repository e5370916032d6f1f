"""Mahalanobis: elliptical noise that follows the shape of the vocabulary."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, MetricDP, NoGuarantee
from quipukit.mechanisms.base import check_share
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.specs import format_value
from quipukit.vectors.store import Vectors

SINGULAR = 1e-6  # smallest eigenvalue below which noise has no density to speak of


@dataclass(frozen=True)
class Ellipsoid:
    """The symmetric factor A of Sigma_lambda = A A^T, and the extreme eigenvalues of Sigma_lambda."""

    factor: NDArray[np.float64]
    smallest: float
    largest: float


def ellipsoid(vectors: Vectors, lam: float) -> Ellipsoid:
    """Return the ellipsoid of a vocabulary: Sigma_lambda = lambda * Sigma + (1 - lambda) * I, trace(Sigma) = n.

    The trace makes the mean coordinate variance 1, so epsilon keeps the scale that it has in CMP.
    """

    def build() -> Ellipsoid:
        covariance = vectors.covariance
        mean_variance = np.trace(covariance) / len(covariance)
        identity = np.eye(len(covariance))
        # A vocabulary of one point has no shape; the sphere is then the only sensible ellipsoid.
        sigma = covariance / mean_variance if mean_variance > 0 else identity
        values, axes = np.linalg.eigh(lam * sigma + (1 - lam) * identity)
        values = np.clip(values, 0, None)
        # The symmetric root is the only factor that does not depend on the signs, the order and (where eigenvalues
        # meet) the choice of the axes, which are LAPACK's; the law is the same, for u has no preferred direction.
        return Ellipsoid((axes * np.sqrt(values)) @ axes.T, float(values.min()), float(values.max()))

    return vectors.derived(("ellipsoid", lam), build)


@dataclass(frozen=True, kw_only=True)
class Elliptical(Perturbation):
    """Shared by Mahalanobis and VickreyMhl: the ellipsoid and its guarantee."""

    lam: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", check_share(self.name, "lam", self.lam))
        super().__post_init__()
        if self.lam and self._ellipsoid.smallest < SINGULAR:
            warnings.warn(
                f"{self.name}: the vocabulary's ellipsoid is flat (smallest eigenvalue "
                f"{self._ellipsoid.smallest:.2g}), so words that differ in its flat directions are not protected; "
                "use lam=0.75 or less.",
                stacklevel=3,
            )

    @property
    def _ellipsoid(self) -> Ellipsoid:
        return ellipsoid(self.vectors, self.lam)

    @property
    def noise_family(self) -> str:
        return f"elliptical(lam={format_value(self.lam)})" if self.lam else "spherical"

    @property
    def promise(self) -> Guarantee:
        if not self.lam:
            return MetricDP(self.epsilon, scope=self.scope)
        if self._ellipsoid.smallest < SINGULAR:
            return NoGuarantee("the ellipsoid is flat: pairs that differ off it are not protected (use lam < 1)")
        return MetricDP(self.epsilon, self._metric, scope=self.scope)

    @property
    def _metric(self) -> str:
        # Each lam is a metric of its own: epsilons of different ones do not add up.
        return "mahalanobis" if self.lam == 1 else f"mahalanobis, lam={format_value(self.lam)}"

    @property
    def euclidean_epsilon(self) -> float:
        """Return the epsilon of the same guarantee stated in the Euclidean distance (larger: it is looser)."""
        smallest = self._ellipsoid.smallest if self.lam else 1.0
        return self.epsilon / float(np.sqrt(smallest)) if smallest else float("inf")

    def stretch(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        # Paper: Z = Y * A u. Released code divides A u by its norm first, which loses metric DP: the density then
        # depends on the angle alone near the origin (tests/statistical/test_noise.py has it as the wrong twin).
        return directions @ self._ellipsoid.factor.T if self.lam else directions


@dataclass(frozen=True, kw_only=True)
class Mahalanobis(Elliptical):
    """Add elliptical noise to a word's vector and send the nearest word.

    Z = Y * A u with A = Sigma_lambda^(1/2), the symmetric root, u and Y as in CMP; the density is proportional to
    exp(-epsilon |z|_M), |z|_M^2 = z^T Sigma_lambda^-1 z. ``lam`` = 1 is the vocabulary's own ellipsoid,
    ``lam`` = 0 is CMP.

    Guarantee: epsilon-metric DP for the Mahalanobis distance; in Euclidean terms epsilon / sqrt(smallest
    eigenvalue). None where the ellipsoid is flat.

    Reference: Xu, Aggarwal, Feyisetan, Teissier. A differentially private text perturbation method using
    regularized Mahalanobis metric. PrivateNLP 2020.
    """

    name: ClassVar[str] = "Mahalanobis"
    summary: ClassVar[str] = "noise in the shape of the vocabulary's ellipsoid, then the nearest word"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Xu et al., PrivateNLP 2020"
