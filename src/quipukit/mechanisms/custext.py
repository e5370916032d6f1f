"""CusText: the exponential mechanism inside small groups of near words."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, LocalDP, NoGuarantee
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.base import check_choice, check_flag, check_whole
from quipukit.mechanisms.sampling import ExponentialSampling, Place
from quipukit.vectors.grouping import Grouping, group_sizes, group_words


@dataclass(frozen=True)
class Candidates:
    """The words that can come out at a place, the likeliest first, with scores in [0, 1]."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CusText(ExponentialSampling):
    """Sample from a small set C of near words, by a score normalized to [0, 1].

    s(x, y) = (dmax - d(x, y)) / (dmax - dmin) over C, and P(y | x) = exp(epsilon s / 2) / Z. ``mapping`` says what C
    is: ``groups`` (default) divides the vocabulary into disjoint groups of k to 2k - 1 words (one group of all where
    there are fewer than 2k), and the words of a group share it; ``topk`` takes the k nearest words of each x, as
    pyPANTERA does; ``aggressive`` is another name for such overlapping sets. ``keep_stopwords`` (CusText+) sends stop
    words as they are.

    Guarantee: with ``groups``, epsilon-DP among the words of one group (scores have range 1 and the output sets
    coincide); words of different groups can be distinguished with certainty. With ``topk``, none: the sets differ from
    word to word, so an output can be impossible under one word and likely under its neighbor. With
    ``keep_stopwords``, none: a stop word that is sent tells that it was asked for.

    Reference: Chen, Mo, Wang, Chen, Cui, Guan. A customized text sanitization mechanism with differential privacy.
    Findings of ACL 2023.

    >>> from quipukit.vectors.store import Vectors
    >>> line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    >>> round(np.exp(CusText(epsilon=2, k=3, vectors=line).log_prob("b", "a")), 6).item()
    0.343757
    """

    name: ClassVar[str] = "CusText"
    summary: ClassVar[str] = "a word of the same small group, near ones likelier"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "Chen et al., Findings of ACL 2023"
    can_be_padded: ClassVar[bool] = False

    k: int = 10
    mapping: str = "groups"
    similarity: str = "euclidean"
    keep_stopwords: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole(self.name, "k", self.k, 2))
        check_choice(self.name, "mapping", self.mapping, ("groups", "topk", "aggressive"))
        check_choice(self.name, "similarity", self.similarity, ("euclidean", "cosine"))
        check_flag(self.name, "keep_stopwords", self.keep_stopwords)
        super().__post_init__()

    def passes(self, word: str) -> bool:
        return self.keep_stopwords and word in STOP_WORDS

    @property
    def words_key(self) -> Hashable:
        return (super().words_key, self.keep_stopwords)

    @property
    def promise(self) -> Guarantee:
        if self.mapping != "groups":
            return NoGuarantee("each word has its own output set, so some outputs rule words out")
        if self.keep_stopwords:
            return NoGuarantee("stop words are sent as they are (keep_stopwords=True)")
        kind = "" if self.similarity == "euclidean" else f"{self.similarity} "
        # With exact sampling rounding adds nothing: scores stay within [0, 1], so weights within exp(epsilon / 2).
        return LocalDP(
            self.epsilon, f"the words of one {kind}group of {self._sizes}", rounding=0.0 if self.exact else None
        )

    @property
    def _sizes(self) -> str:
        least, most = group_sizes(len(self.vectors), self.k)
        return str(least) if least == most else f"{least} to {most}"

    @property
    def neighborhood_key(self) -> Hashable:
        return ("candidates", self.k, self.mapping == "groups", self.similarity)

    @property
    def grouping(self) -> Grouping:
        """Return the division of the vocabulary into groups."""
        return group_words(self.vectors, self.k, self.similarity)

    def neighborhood(self, place: Place) -> Candidates:
        rows = self.grouping.group_of_place(place.point, place.row) if self.mapping == "groups" else None
        dissimilarity = self._dissimilarity(place, rows)
        order = np.argsort(dissimilarity, kind="stable")[: None if self.mapping == "groups" else self.k]
        dissimilarity = dissimilarity[order]
        spread = dissimilarity[-1] - dissimilarity[0]
        scores = (dissimilarity[-1] - dissimilarity) / spread if spread > 0 else np.ones(len(order))
        return Candidates(order if rows is None else rows[order], scores)

    def _dissimilarity(self, place: Place, rows: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Return the distance to some rows, or to all of them."""
        from quipukit.vectors.nearest import distances

        if self.similarity == "cosine":
            return 1 - self.vectors.cosines(place.point)[slice(None) if rows is None else rows]
        return distances(self.vectors.matrix if rows is None else self.vectors.matrix[rows], place.point)

    def law(self, near: Candidates) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return near.rows, self.epsilon / 2 * (near.scores - 1)
