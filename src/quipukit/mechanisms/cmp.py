"""CMP: calibrated multivariate perturbation."""

from dataclasses import dataclass
from typing import ClassVar

from quipukit.mechanisms.perturbation import Perturbation


@dataclass(frozen=True, kw_only=True)
class CMP(Perturbation):
    """Add spherical noise to a word's vector and send the nearest word.

    v = phi(x) + Y u, with u uniform on the unit sphere and Y ~ Gamma(n, 1/epsilon); the density of the noise is
    proportional to exp(-epsilon |z|). Small epsilon does not give uniform words: outputs then tend to the corners
    of the convex hull of the vocabulary.

    Guarantee: epsilon-metric DP for the Euclidean distance of the vectors; taking the nearest word is
    post-processing.

    Reference: Feyisetan, Balle, Drake, Diethe. Privacy- and utility-preserving textual analysis via calibrated
    multivariate perturbations. WSDM 2020.

    >>> import numpy as np
    >>> from quipukit.vectors.store import Vectors
    >>> pets = Vectors(["cat", "dog"], np.eye(2))
    >>> CMP(epsilon=1e6, vectors=pets).obfuscate("Dog, cat!", n=2, rng=np.random.default_rng(0))
    ['dog cat', 'dog cat']
    """

    name: ClassVar[str] = "CMP"
    summary: ClassVar[str] = "spherical noise on the word's vector, then the nearest word"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Feyisetan et al., WSDM 2020"
