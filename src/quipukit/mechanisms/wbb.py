"""WBB: words blending boxes."""

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.lexical import STOP_WORDS, tag
from quipukit.mechanisms.base import check_choice, check_flag, check_whole
from quipukit.mechanisms.sampling import ExponentialSampling, Place

if TYPE_CHECKING:
    from quipukit.wordnet.database import WordNet


@dataclass(frozen=True)
class Box:
    """The candidate words of a place, the nearest first, with their distances and the scale to read them by."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    center: float
    spread: float

    @property
    def scores(self) -> NDArray[np.float64]:
        """Return sigmoid((center - distance) / spread): between 0 and 1, larger for nearer words."""
        if self.spread == 0:
            return np.full(len(self.rows), 0.5)
        return 1 / (1 + np.exp(-(self.center - self.distances) / self.spread))


def _scale(distances: NDArray[np.float64]) -> tuple[float, float]:
    return float(distances.mean()), float(distances.std())


@dataclass(frozen=True, kw_only=True)
class WBB(ExponentialSampling):
    """Sample from a box of words that are near, but not too near.

    All words are ranked from x; the first ``k`` (x among them) are the safe box and never sent, the next ``n`` are
    the candidates. Candidates are alphabetic words that are no stop words. ``measure`` ranks: ``angle`` (1 - cos),
    ``euclidean``, or their ``product``. Only nouns and adjectives are replaced; other known words are sent as they
    are, unless ``all_tokens``.

    With score s = sigmoid((m - distance) / sd), m and sd over the box, ``mode="exponential"`` (default) takes
    P(y | x) ~ exp(epsilon s / 2). ``mode="published"`` takes P(y | x) ~ s with m and sd over the boxes of the whole
    query, as the released code does: there epsilon cancels and changes nothing.

    Guarantee: none. The box depends on x and leaves x out, so most outputs rule most words out.

    Reference: De Faveri, Faggioli, Ferro. Words blending boxes: obfuscating queries in information retrieval using
    differential privacy. 2024.
    """

    name: ClassVar[str] = "WBB"
    summary: ClassVar[str] = "a word near, but not too near; nouns and adjectives only"
    shares_work: ClassVar[bool] = True
    reference: ClassVar[str] = "De Faveri et al., 2024"
    can_be_padded: ClassVar[bool] = False

    k: int = 2
    n: int = 15
    measure: str = "angle"
    mode: str = "exponential"
    all_tokens: bool = False
    wordnet: "WordNet | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole(self.name, "k", self.k, 1))
        object.__setattr__(self, "n", check_whole(self.name, "n", self.n, 2))
        check_choice(self.name, "measure", self.measure, ("angle", "euclidean", "product"))
        check_choice(self.name, "mode", self.mode, ("exponential", "published"))
        check_flag(self.name, "all_tokens", self.all_tokens)
        super().__post_init__()
        if len(self.usable_rows) < self.k + 2:
            raise SpecError(
                f"{self.name}: k={self.k} leaves fewer than 2 candidates among {len(self.usable_rows)} usable words; "
                "use a larger vocabulary or a smaller k."
            )

    @property
    def promise(self) -> Guarantee:
        return NoGuarantee("the candidates depend on the word and leave it out; other words are sent as they are")

    @property
    def by_query(self) -> bool:
        return self.mode == "published"

    @property
    def words_key(self) -> Hashable:
        return (super().words_key, self.all_tokens, self.by_query, id(self.wordnet))

    def passes(self, word: str) -> bool:
        # What WordNet does not know is most likely a name: replaced like any noun.
        return not self.all_tokens and tag(word, self._wordnet) not in ("n", "a", "unknown")

    @functools.cached_property
    def _wordnet(self) -> "WordNet":
        from quipukit.wordnet.database import load_wordnet

        return self.wordnet or load_wordnet()

    @property
    def neighborhood_key(self) -> Hashable:
        return ("box", self.k, self.n, self.measure, self.mode)

    @property
    def usable_rows(self) -> NDArray[np.int64]:
        """Return the rows of the words that may be sent: alphabetic, and no stop words."""
        vectors = self.vectors
        return vectors.derived(
            "alphabetic rows",
            lambda: np.array(
                [r for r, word in enumerate(vectors.words) if word.isalpha() and word.lower() not in STOP_WORDS],
                np.int64,
            ),
        )

    def neighborhood(self, place: Place) -> Box:
        own = self._box(place)
        return Box(own.rows, own.distances, *(place.context or _scale(own.distances)))

    def query_context(self, places: Sequence[Place]) -> tuple[float, float]:
        from quipukit.threads import in_threads

        return _scale(np.concatenate([box.distances for box in in_threads(self._box, places)]))

    def _box(self, place: Place) -> Box:
        def build() -> Box:
            distance = self._measure(place)
            ranked = self.usable_rows[np.argsort(distance[self.usable_rows], kind="stable")]
            # x heads its own safe box, even where a twin with the same vector comes first.
            others = ranked[ranked != place.row]
            safe = self.k - 1 if place.row >= 0 else self.k
            rows = others[safe : safe + self.n]
            return Box(rows, distance[rows], 0.0, 0.0)

        if place.row < 0:
            return build()
        return self.vectors.derived(("box", type(self), self.k, self.n, self.measure, place.row), build)

    def _measure(self, place: Place) -> NDArray[np.float64]:
        from quipukit.vectors.nearest import distances

        vectors = self.vectors
        if self.measure == "euclidean":
            return distances(vectors.matrix, place.point)
        angle = 1 - vectors.cosines(place.point)
        return angle if self.measure == "angle" else angle * distances(vectors.matrix, place.point)

    def law(self, near: Box) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        if self.mode == "published":
            return near.rows, np.log(near.scores)
        return near.rows, self.epsilon / 2 * (near.scores - near.scores.max())
