"""1-Diffractor: noise on the position of a word in a one-dimensional list of near words."""

import functools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, MetricDP
from quipukit.mechanisms.base import check_choice
from quipukit.mechanisms.sampling import ExponentialSampling, Place
from quipukit.mechanisms.tem import far_limit
from quipukit.progress import Progress, part_of
from quipukit.vectors.chaining import chain
from quipukit.vectors.store import Vectors

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Diffractor(ExponentialSampling):
    """Move a word along a list in which near words follow each other, and send the word that stands there.

    The vocabulary is put into a list once, from public data alone: each word is followed by the nearest one that is not
    in it yet (`quipukit.vectors.chaining`). With i and j the positions of x and y, ``variant="geometric"`` (default)
    adds two-sided geometric noise and stays within the list: with a = exp(-epsilon), P(y | x) = a^|i-j| (1-a)/(1+a),
    and a^|i-j|/(1+a) at both ends, which take what lies beyond them. ``variant="tem"`` is TEM on positions:
    P(y | x) ~ exp(-(epsilon/2) min(|i-j|, gamma)), with gamma from ``beta``.

    ``lists`` names further word vectors, as in "glove-6b-100d-wink" (several with commas): each gives a list of the
    same words, and one of the lists is drawn for each word. A word that other vectors lack stands at their mean.

    Guarantee: epsilon-metric DP for the distance of positions; with several lists for the largest of their distances.
    Epsilon is per *step* in the list: 0.1 moves a word by ten positions or so. A step may lead to a near word or, where
    the list jumps, to a far one: the distance says little about meaning.

    An unknown word stands where the word does that is nearest to the mean of all vectors.

    Reference: Meisenbacher, Chevli, Matthes. 1-Diffractor: efficient and utility-preserving text obfuscation leveraging
    word-level metric differential privacy. IWSPA 2024.

    >>> from quipukit.vectors.store import Vectors
    >>> line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    >>> one = Diffractor(epsilon=np.log(2), vectors=line)
    >>> np.exp([one.log_prob(word, "a") for word in "abc"]).round(4).tolist()
    [0.6667, 0.1667, 0.1667]
    """

    name: ClassVar[str] = "Diffractor"
    summary: ClassVar[str] = "a word some positions away in a list of near words (1-Diffractor)"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Meisenbacher et al., IWSPA 2024 (1-Diffractor)"
    # From about a hundred positions to nearly none: a word stays with probability tanh(epsilon / 2).
    grid: ClassVar[tuple[float, ...]] = (0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
    default: ClassVar[float | None] = 0.5
    can_be_padded: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False  # the list of a large vocabulary takes minutes, once

    variant: str = "geometric"
    beta: float = 0.001
    lists: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.name, "variant", self.variant, ("geometric", "tem"))
        far_limit(self.name, 1.0, self.beta, 2)  # says what is wrong with beta
        object.__setattr__(self, "beta", float(self.beta))
        given: object = self.lists
        if given is not None and (not isinstance(given, str) or not all(name.strip() for name in given.split(","))):
            raise SpecError(f"{self.name}: lists must name word vectors, with commas between them (found {given!r}).")
        super().__post_init__()
        if self.exact and self.lists is not None:
            raise SpecError(f"{self.name}: exact=True is for one list; leave out lists, or exact.")

    @property
    def promise(self) -> Guarantee:
        metric = "list positions" if self.lists is None else f"list positions, the largest with {self.lists}"
        return MetricDP(self.epsilon, metric, scope=self.scope, rounding=self.metric_rounding)

    @property
    def metric_rounding(self) -> float | None:
        """Return what rounding adds to a loss at most; positions are whole numbers, and known exactly."""
        if not self.exact or self.oov == "subword" or self.lists is not None:
            return None
        # A logarithm of a weight is a product, a constant of at most 14 in absolute value, and their difference.
        return 16 * (self.epsilon * len(self.vectors) + 20) * 2.0**-53

    # --- the lists ---

    def prepare(self, progress: Progress | None = None) -> None:
        self._orders(progress)

    def _orders(self, progress: Progress | None = None) -> list[Rows]:
        """Return every list; they are made once, and kept with the vectors."""
        further = [] if self.lists is None else [name.strip() for name in self.lists.split(",")]
        parts = [part_of(progress, number, 1, 1 + len(further)) for number in range(1 + len(further))]
        others = [_further_list(self.vectors, name, part) for name, part in zip(further, parts[1:], strict=True)]
        return [chain(self.vectors, parts[0]), *others]

    @functools.cached_property
    def positions(self) -> Rows:
        """Return the position of every word (columns, as rows of the vocabulary) in every list (lines)."""
        orders = self._orders()
        positions = np.empty((len(orders), len(self.vectors)), np.int64)
        for line, order in zip(positions, orders, strict=True):
            line[order] = np.arange(len(order))
        return positions

    @functools.cached_property
    def _first_list(self) -> Rows:
        return np.argsort(self.positions[0])

    @property
    def neighborhood_key(self) -> Hashable:
        return ("list positions", self.lists)

    def neighborhood(self, place: Place) -> Rows:
        """Return where a place stands in every list: as a word, or as the word that is nearest to it."""
        return self.positions[:, self.row_of(place.point, place.row)]

    def row_of(self, point: Floats, row: int) -> int:
        """Return the row of a word, or of the word that is nearest to a point that is none."""
        from quipukit.vectors.nearest import distances

        return row if row >= 0 else int(np.argmin(distances(self.vectors.matrix, point)))

    # --- the law ---

    def law(self, near: Rows) -> tuple[Rows, Floats]:
        rows = self._first_list  # neighbors by position, so that near uniform numbers give near words
        return rows, self.log_probs_of(rows, near[:, None])[:, 0]

    def log_probs_of(self, rows: Rows, places: Rows) -> Floats:
        """Return ln P(y | x) for words y, by rows (lines), and inputs x, by their positions in each list (columns)."""
        logs = [self._in_list(line[rows], place) for line, place in zip(self.positions, places, strict=True)]
        return logs[0] if len(logs) == 1 else np.logaddexp.reduce(logs, axis=0) - math.log(len(logs))

    def _in_list(self, outputs: Rows, inputs: Rows) -> Floats:
        apart = np.abs(outputs[:, None] - inputs)
        last = len(self.vectors) - 1
        if last == 0:
            return np.zeros(apart.shape)
        if self.variant == "tem":
            logs: Floats = -self.epsilon / 2 * np.minimum(np.arange(last + 1), self.truncation)
            sums = np.cumsum(np.exp(logs))
            return logs[apart] - np.log(sums[inputs] + sums[last - inputs] - 1)
        # Inside, a^m (1 - a) / (1 + a); at an end what lies beyond is added, which makes it a^m / (1 + a).
        inside = np.where((outputs == 0) | (outputs == last), 0.0, math.log(-math.expm1(-self.epsilon)))
        return inside[:, None] - self.epsilon * apart - math.log1p(math.exp(-self.epsilon))

    @property
    def truncation(self) -> float:
        """Return gamma of the variant "tem": the number of steps beyond which all words are alike."""
        return far_limit(self.name, self.epsilon, self.beta, len(self.vectors))


def _further_list(vectors: Vectors, name: str, progress: Progress | None = None) -> Rows:
    """Return the list of a vocabulary by the vectors of another pack; a word that it lacks stands at its mean."""
    from quipukit.vectors.sources import load_vectors

    other = load_vectors(name)

    def build() -> Rows:
        rows = np.array([other.row(word) for word in vectors.words])
        matrix = np.where((rows >= 0)[:, None], other.matrix[rows], other.mean.astype(np.float32))
        return chain(Vectors(list(vectors.words), matrix), progress)

    return vectors.derived_on_disk(f"chain-{other.fingerprint[:16]}", build)
