"""RANTEXT: the exponential mechanism inside a random adjacency list of near words."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.mechanisms.sampling import ExponentialSampling, SortedRow
from quipukit.vectors.store import Vectors

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_BODY = 192  # radii of equal probability, but for the last, which is divided again and again
_TAIL = 44
_BINS = 1 << 16  # of the law of a squared radius
_NO_TAIL = 33.0  # standard exponential numbers are larger with probability 5e-15


@dataclass(frozen=True, kw_only=True)
class RANTEXT(ExponentialSampling):
    """Draw a random radius around a word, and from the words within it by their distance.

    R = |(Z_1, ..., Z_n)| with Z_j ~ Laplace(D_j / c), D_j the range of coordinate j over the vocabulary, and c =
    epsilon below 2, from there on 0.0166 ln(19.06 epsilon - 38.13) + 9.31, a fit that the paper's code uses. The random
    adjacency list of x are the words at a distance below R, x among them, and P(y | x, R) ~
    exp(epsilon/2 (1 - d(x,y)/R)) over that list. R takes one of 236 values, the centers of cells of its law: 191 of
    equal probability, and ever smaller ones beyond.

    Guarantee: none. The paper states epsilon-DP, but its proof compares two words inside one and the same list, and the
    list is drawn around the word itself. So an output at distance d needs R > d, which is the less likely the farther
    it is, and what its weight is divided by depends on how many words are near x: on the words 0, 1 and 3 of a line the
    loss is 1.95 at epsilon 1 and 12.5 at epsilon 6 (tests/mechanisms/test_rantext.py). Were weights divided by the sum
    over all words instead, this would be a mechanism like SanText, which keeps its promise; a list around a *noisy*
    point does too: see `NoisyRANTEXT`.

    Reference: Tong, Chen, Zhang, Qi, Zhang, Yu. InferDPT: privacy-preserving inference for black-box large language
    models. IEEE TDSC 2025. Its code works on the tokens of a language model and sends numbers as random ones; here
    words are those of the vocabulary, and unknown ones follow ``oov``.

    >>> from quipukit.vectors.store import Vectors
    >>> line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    >>> np.exp([RANTEXT(epsilon=1, vectors=line).log_prob(word, "a") for word in "abc"]).round(3).tolist()
    [0.623, 0.274, 0.102]
    """

    name: ClassVar[str] = "RANTEXT"
    summary: ClassVar[str] = "a word within a random radius, near ones likelier (InferDPT)"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Tong et al., IEEE TDSC 2025 (InferDPT)"
    default: ClassVar[float | None] = 6.0
    grid: ClassVar[tuple[float, ...]] = (0.5, 1.0, 1.5, 2.0, 3.0, 6.0, 10.0, 14.0, 20.0, 30.0)
    can_be_padded: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False

    @property
    def promise(self) -> Guarantee:
        return NoGuarantee("the list that a word is drawn from depends on the word itself: the published proof fails")

    @property
    def metric_rounding(self) -> float | None:
        return None

    @property
    def neighborhood_key(self) -> Hashable:
        return "sorted row"

    @property
    def radii(self) -> tuple[Floats, Floats]:
        """Return the values of R in rising order, and their probabilities."""
        radii, chances = radius_law(self.vectors)
        return radii / _concentration(self.epsilon), chances

    def law(self, near: SortedRow) -> tuple[Rows, Floats]:
        total = np.zeros(len(near.rows))
        for radius, chance in zip(*self.radii, strict=True):
            weights = self._within(near, radius)
            total[: len(weights)] += chance / weights.sum() * weights
        with np.errstate(divide="ignore"):
            return near.rows, np.log(total)

    def sample(self, near: SortedRow, uniforms: Floats) -> Rows:
        """Choose the radius by where a number falls, and the word by where it falls within that."""
        from quipukit.mechanisms.sampling import invert

        radii, chances = self.radii
        ends = np.cumsum(chances)
        flat = uniforms.ravel()
        cell = np.minimum(np.searchsorted(ends, flat, side="right"), len(radii) - 1)
        share = np.clip((flat - (ends - chances)[cell]) / chances[cell], 0, np.nextafter(1, 0))
        positions = np.empty(len(flat), np.int64)
        for number in np.unique(cell):
            own = cell == number
            positions[own] = invert(self._within(near, radii[number]), share[own])
        return near.rows[positions].reshape(uniforms.shape)

    def nearest_row(self, point: Floats) -> int:
        """Return the word that comes out where no word lies within the radius."""
        from quipukit.vectors.nearest import distances

        return int(np.argmin(distances(self.vectors.matrix, point)))

    def _within(self, near: SortedRow, radius: float) -> Floats:
        """Return the weights of the words within a radius, nearest first; of the nearest one where there are none."""
        count = max(1, int(np.searchsorted(near.distances, radius, side="left")))
        inside = near.distances[:count]
        weights: Floats = np.exp(-self.epsilon / 2 * (inside - inside[0]) / max(radius, 1e-300))
        return weights


def _concentration(epsilon: float) -> float:
    """Return what the ranges of the coordinates are divided by; the numbers are those of the released code."""
    if epsilon < 2:
        return epsilon
    inside = 19.064721649556482 * epsilon - 38.1294334077209
    return 0.01658160142016071 * float(np.log(max(inside, 1e-12))) + 9.311083811697406 if inside > 0 else epsilon


def radius_law(vectors: Vectors) -> tuple[Floats, Floats]:
    """Return radii and their probabilities where c = 1: the length of Laplace noise with the ranges as its scales.

    The squared length is a sum of n independent squares; its law is a product of Fourier transforms, of each square on
    a grid of 65,536 bins. What is left beyond the body of the law is divided into halves, so that radii up to those of
    probability 1e-15 are among the values.
    """

    def build() -> NDArray[np.float64]:
        matrix = np.asarray(vectors.matrix)
        scales = (matrix.max(axis=0) - matrix.min(axis=0)).astype(np.float64)
        scales = scales[scales > 0]
        if not len(scales):
            return np.array([[0.0], [1.0]])
        squares = scales**2
        top = 2 * squares.sum() + 12 * np.sqrt(20 * (squares**2).sum()) + _NO_TAIL**2 * squares.max()
        edges = np.arange(_BINS + 1) * (top / _BINS)
        transform = np.ones(_BINS // 2 + 1, np.complex128)
        for scale in scales:
            # Cells around multiples of the bin's width, so that no square is moved to one side.
            below = -np.expm1(-np.sqrt(np.maximum(edges - edges[1] / 2, 0.0)) / scale)
            transform *= np.fft.rfft(np.diff(below))
        law = np.maximum(np.fft.irfft(transform, _BINS), 0.0)
        beyond = np.cumsum(law[::-1])[::-1] / law.sum()  # the probability of this bin and all above
        last = 0.5 ** np.arange(1, _TAIL + 1) / _BODY
        chances = np.concatenate([np.full(_BODY - 1, 1 / _BODY), last, last[-1:]])
        centers = 1 - (np.cumsum(chances) - chances / 2)
        # `beyond` falls; the first bin that fewer than so many lie beyond.
        places = np.searchsorted(-beyond, -np.maximum(centers, 2e-15), side="left")
        return np.array([np.sqrt(edges[np.clip(places, 1, _BINS) - 1]), chances])

    radii, chances = vectors.derived("radius law", build)
    return radii, chances
