"""SanText and SanText+: the exponential mechanism over the whole vocabulary."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, MetricDP
from quipukit.mechanisms.base import check_share
from quipukit.mechanisms.sampling import ExponentialSampling, Place, SortedRow


@dataclass(frozen=True, kw_only=True)
class SanText(ExponentialSampling):
    """Sample a word with a weight that falls exponentially with its distance.

    P(y | x) = exp(-epsilon d(x, y) / 2) / Z_x over the whole vocabulary.

    Guarantee: epsilon-metric DP for the Euclidean distance of the vectors.

    Reference: Yue, Du, Wang, Li, Sun, Chow. Differential privacy for text analytics via natural text
    sanitization. Findings of ACL 2021.

    >>> from quipukit.vectors.store import Vectors
    >>> line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    >>> round(np.exp(SanText(epsilon=2, vectors=line).log_prob("b", "a")), 6).item()
    0.259496
    """

    name: ClassVar[str] = "SanText"
    summary: ClassVar[str] = "any word, exponentially less likely with distance"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Yue et al., Findings of ACL 2021"

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon, scope=self.scope, rounding=self.metric_rounding)

    def law(self, near: SortedRow) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        # The nearest word has weight 1: far places (unknown words) would otherwise underflow to 0/0.
        return near.rows, -self.epsilon / 2 * (near.distances - near.distances[0])


@dataclass(frozen=True)
class _PlusRow:
    """The sensitive words by distance, and whether the word at the place is one of them."""

    row: int
    sensitive: bool
    near: SortedRow


@dataclass(frozen=True, kw_only=True)
class SanTextPlus(SanText):
    """SanText that treats frequent words more gently.

    The last half of the vocabulary (``sensitive_share``) in the order of its file is sensitive: the rare words where
    that order is by frequency, as in GloVe's files and nearly so in the default pack. A sensitive word is replaced by a
    sensitive word with SanText's weights; any other word is kept with probability 1 - p and else replaced likewise.

    Guarantee: epsilon-metric DP among sensitive words only; a word that is not sensitive shows itself when kept.

    Reference: as SanText.
    """

    name: ClassVar[str] = "SanText+"
    summary: ClassVar[str] = "SanText on the last words of the vocabulary's file; the first are mostly kept"
    shares_work: ClassVar[bool] = True

    p: float = 0.2
    sensitive_share: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_share(self.name, "p", self.p))
        object.__setattr__(self, "sensitive_share", check_share(self.name, "sensitive_share", self.sensitive_share))
        super().__post_init__()

    @property
    def first_sensitive(self) -> int:
        """Return the first row that is sensitive; at least one word always is."""
        return min(len(self.vectors) - 1, round(len(self.vectors) * (1 - self.sensitive_share)))

    @property
    def promise(self) -> Guarantee:
        sensitive, words = len(self.vectors) - self.first_sensitive, len(self.vectors)
        scope = f"only the last {sensitive:,} of {words:,} words in file order"
        return MetricDP(self.epsilon, scope=scope, rounding=self.metric_rounding)

    @property
    def neighborhood_key(self) -> Hashable:
        return ("sensitive row", self.first_sensitive)

    def neighborhood(self, place: Place) -> _PlusRow:
        near = super().neighborhood(place)
        sensitive = near.rows >= self.first_sensitive
        rare = SortedRow(near.rows[sensitive], near.distances[sensitive])
        # A place that is no word (an unknown one) counts as sensitive: it must not be kept.
        return _PlusRow(place.row, place.row < 0 or place.row >= self.first_sensitive, rare)

    def law(self, near: _PlusRow) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # type: ignore[override]
        rows, log_weights = super().law(near.near)
        if near.sensitive:
            return rows, log_weights
        with np.errstate(divide="ignore"):
            kept, replaced = np.log([1 - self.p, self.p])
        log_weights = log_weights - np.log(np.exp(log_weights).sum()) + replaced
        return np.append(near.row, rows), np.append(kept, log_weights)
