"""Mechanisms that sample a word from a law over the vocabulary, by inverse transform.

Each token takes one uniform number. What a law needs to know about a place in the embedding (the sorted distances
to all words, a group, a box) is its *neighborhood*; it does not depend on epsilon, so all settings that need the
same neighborhoods share them, and each is computed once per distinct word.
"""

import itertools
import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.deprecation import warn_deprecated
from quipukit.errors import InputError, NoClosedForm, SpecError
from quipukit.mechanisms.base import EPSILON_GRID, Streams, Tick, Variants, WordLaw, check_epsilon, check_flag
from quipukit.mechanisms.exactsampling import Bits, distance_rounding, exact_positions
from quipukit.mechanisms.wordoptions import random_order
from quipukit.mechanisms.words import GAUSSIAN, KEEP, UNIFORM, UNSET, Sites, WordMechanism, find_sites, uniform_rows


@dataclass(frozen=True)
class Place:
    """A point of the embedding, and its row in the vocabulary (-1 for a point that is no word).

    ``context`` is what the mechanism found out about the query as a whole, where its law looks at that.
    """

    point: NDArray[np.float64]
    row: int
    context: Any = None


@dataclass(frozen=True)
class SortedRow:
    """All words by increasing (distance, row) from a place."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Sampling(WordMechanism):
    """A mechanism with a closed form P(y | x)."""

    strategy: ClassVar[str] = "sampling"
    applies_word_options: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for old, new in (("neighbourhood", "neighborhood"), ("neighbourhood_key", "neighborhood_key")):
            if old in vars(cls):  # unheeded, it would change what a plugin sends
                warn_deprecated(f"{cls.__name__}.{old} is deprecated; call it {new}.")
                setattr(cls, new, vars(cls)[old])

    @property
    def neighborhood_key(self) -> Hashable:
        """Return a key that is equal for mechanisms which need the same neighborhoods."""
        return "sorted row"

    def neighborhood(self, place: Place) -> Any:
        """Return what the law at a place needs to know; by default all words by distance."""
        from quipukit.vectors.nearest import distances

        distance = distances(self.vectors.matrix, place.point)
        order = by_distance(distance)
        return SortedRow(order, distance[order])

    def query_context(self, places: "Sequence[Place]") -> Any:
        """Return what a law that looks at the query as a whole (``by_query``) needs to know of its places, once."""
        return None

    @abstractmethod
    def law(self, near: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows that can come out, and the logarithms of their weights (largest 0 or near it)."""

    def sample(self, near: Any, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Turn uniform numbers into rows: inverse transform of the law, in the order in which it lists its rows."""
        rows, log_weights = self.law(near)
        return rows[invert(np.exp(log_weights), uniforms)]

    def draw_rows(self, near: Any, uniforms: NDArray[np.float64], further: Callable[[int], Bits]) -> NDArray[np.int64]:
        """Turn uniform numbers into rows; ``further(i)`` continues the i-th of them, where more bits are needed."""
        return self.sample(near, uniforms)

    def any_rows(self, uniforms: NDArray[np.float64], further: Callable[[int], Bits]) -> NDArray[np.int64]:
        """Turn uniform numbers into rows of the whole vocabulary, all equally likely."""
        return uniform_rows(uniforms, len(self.vectors))

    def log_prob(self, output_word: str, input_word: str) -> float:
        """Return ln P(output | input) for one word; minus infinity for what cannot come out."""
        one = self.one_word()
        if one is not self:
            return one.log_prob(output_word, input_word)
        sites = find_sites(self, [("", input_word)])
        if not sites.words and sites.flags[0].get("oov"):
            return -math.inf  # the word is left out: no word comes out
        if len(sites.words) != 1:
            raise InputError(f"log_prob takes one word at a time (found {len(sites.words)}); ask for each word.")
        output = self.vectors.row(output_word)
        kind = int(sites.site_of[0])
        if kind == KEEP:
            return 0.0 if output_word == sites.words[0] else -math.inf
        if output < 0:
            return -math.inf
        if kind == UNIFORM:
            return -math.log(len(self.vectors))
        if kind == GAUSSIAN:
            return super().log_prob(output_word, input_word)
        rows, log_weights = self.law(self.neighborhood(_places(self, sites)[kind]))
        top = log_weights.max()
        total = top + math.log(np.exp(log_weights - top).sum())
        hit = np.flatnonzero(rows == output)
        return float(log_weights[hit[0]] - total) if len(hit) else -math.inf

    def word_law(self, word: str) -> WordLaw:
        self.one_word()  # says where there is no law of one word
        sites = find_sites(self, [("", word)])
        if len(sites.words) != 1:
            raise InputError(f"a word of the sample is {len(sites.words)} tokens to {self.name}; give single words.")
        own, site = self.vectors.row(sites.words[0]), int(sites.site_of[0])
        if site == KEEP:
            return WordLaw(np.array([own]), np.ones(1), 1.0)
        if site == GAUSSIAN:
            raise NoClosedForm(f"{self.name} gives an unknown word a random place (oov='gaussian'); sample it.")
        if site == UNIFORM:
            rows, log_weights = np.arange(len(self.vectors)), np.zeros(len(self.vectors))
        else:
            rows, log_weights = self.law(self.neighborhood(Place(sites.points[site], sites.rows[site])))
        weights = np.exp(log_weights - log_weights.max())
        probabilities = weights / weights.sum()
        return WordLaw(rows, probabilities, float(probabilities[rows == own].sum()) if own >= 0 else 0.0)

    @property
    def shared_key(self) -> Hashable:
        return (Sampling, self.words_key, self.neighborhood_key)

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        from quipukit.threads import in_threads

        vectors = group[0].vectors
        sites = find_sites(group[0], queries, group[0].bins)
        sharing: dict[str, list[tuple[Sampling, NDArray[np.int32]]]] = {}
        chosen = [np.full((len(sites.words), n), UNSET, np.int32) for _ in group]
        owners = [streams.owner(member) for member in group]
        for owner, member, rows in zip(owners, group, chosen, strict=True):
            sharing.setdefault(owner, []).append((member.for_variants(n), rows))
        # One draw for all that share their noise: a stream costs more than the number that is taken from it.
        draws = {
            owner: _draw(sites, queries, n, streams, owner, any(member.shuffle for member, _ in members))
            for owner, members in sharing.items()
        }
        places = _places(group[0], sites)
        tokens_at = _tokens_by_site(sites)
        share = len(group) * len(queries) / max(1, len(tokens_at))

        def sample_site(site: int) -> None:
            near = group[0].neighborhood(places[site])
            tokens = tokens_at[site]
            for owner, members in sharing.items():
                further = _further(sites, queries, streams, owner, tokens, n)
                for member, rows in members:
                    rows[tokens] = member.draw_rows(near, draws[owner].uniforms[tokens], further)
            tick(share)

        def sample_point(point: tuple[str, int, int]) -> None:
            owner, token, variant = point
            near = group[0].neighborhood(Place(draws[owner].gaussian[token, variant], -1))
            for member, rows in sharing[owner]:
                rows[token, variant] = member.sample(near, draws[owner].uniforms[token, variant : variant + 1])[0]

        in_threads(sample_site, range(len(tokens_at)))
        in_threads(sample_point, [(owner, *where) for owner, drawn in draws.items() for where in drawn.gaussian])
        uniform = np.flatnonzero(sites.site_of == UNIFORM)
        for owner, members in sharing.items():
            further = _further(sites, queries, streams, owner, uniform, n)
            for member, rows in members:
                rows[sites.site_of == KEEP] = KEEP
                rows[uniform] = member.any_rows(draws[owner].uniforms[uniform], further)
        if not tokens_at:
            tick(len(group) * len(queries))
        return [
            sites.texts(vectors, rows, draws[owner].order if member.shuffle else None)
            for owner, member, rows in zip(owners, group, chosen, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class ExponentialSampling(Sampling):
    """A sampling mechanism whose privacy parameter is epsilon.

    With ``exact`` words come out with exactly the probabilities of the law, not with those that rounding leaves of it
    (`exactsampling`).
    """

    parameter: ClassVar[str] = "epsilon"
    grid: ClassVar[tuple[float, ...]] = EPSILON_GRID
    default: ClassVar[float | None] = 10.0

    epsilon: float
    exact: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        check_flag(self.name, "exact", self.exact)
        super().__post_init__()
        if self.exact and self.oov == "gaussian":
            raise SpecError(
                f"{self.name}: exact=True needs a law, and oov='gaussian' gives unknown words a random place; use "
                "oov='anchor'."
            )

    @property
    def metric_rounding(self) -> float | None:
        """Return what rounding adds to a loss at most, where weights go by distance; None where nothing is proved.

        That is without ``exact``, and where unknown words are composed: how far off they may lie is not known.
        """
        if not self.exact or self.oov == "subword":
            return None
        # No two words, nor a word and the mean of all, are farther apart than twice the longest vector is long.
        farthest = 2 * math.sqrt(2 * float(self.vectors.half_norms.max()))
        return distance_rounding(self.epsilon, self.vectors.dimension, farthest)

    def draw_rows(self, near: Any, uniforms: NDArray[np.float64], further: Callable[[int], Bits]) -> NDArray[np.int64]:
        if not self.exact:
            return super().draw_rows(near, uniforms, further)
        rows, log_weights = self.law(near)
        return rows[exact_positions(log_weights, uniforms, further)]

    def any_rows(self, uniforms: NDArray[np.float64], further: Callable[[int], Bits]) -> NDArray[np.int64]:
        if not self.exact:
            return super().any_rows(uniforms, further)
        return exact_positions(np.zeros(len(self.vectors)), uniforms, further)


@dataclass(frozen=True)
class _Draws:
    """A uniform number for every token and variant, a point for every Gaussian unknown, and the order of the words."""

    uniforms: NDArray[np.float64]
    gaussian: dict[tuple[int, int], NDArray[np.float64]]
    order: NDArray[np.int32] | None


def _draw(
    sites: Sites, queries: Sequence[tuple[str, str]], n: int, streams: Streams, owner: str, shuffled: bool
) -> _Draws:
    uniforms = np.empty((len(sites.words), n))
    order = np.empty((len(sites.words), n), np.int32) if shuffled else None
    dimension = int(sites.points.shape[1])
    gaussian: dict[tuple[int, int], NDArray[np.float64]] = {}
    unknown = sites.site_of == GAUSSIAN
    for query, variant in sites.units(n):
        rng = streams.stream(owner, *queries[query], variant)
        span = sites.span(query)
        uniforms[span, variant] = rng.random(sites.length(query))
        for token in np.flatnonzero(unknown[span]) + span.start:
            gaussian[int(token), variant] = rng.standard_normal((dimension,))
        if order is not None:
            order[span, variant] = random_order(rng, sites.length(query))
    return _Draws(uniforms, gaussian, order)


def _further(
    sites: Sites, queries: Sequence[tuple[str, str]], streams: Streams, owner: str, tokens: NDArray[np.int64], n: int
) -> Callable[[int], np.random.Generator]:
    """Return what continues the i-th uniform number of some tokens: a stream of its own, made where it is needed."""

    def stream(number: int) -> np.random.Generator:
        token, variant = int(tokens[number // n]), number % n
        query = bisect_right(sites.starts, token) - 1
        place = token - sites.starts[query]
        return streams.stream(f"{owner}, further bits of word {place}", *queries[query], variant)

    return stream


def _places(mechanism: Sampling, sites: Sites) -> list[Place]:
    alone = [Place(point, row) for point, row in zip(sites.points, sites.rows, strict=True)]
    if not mechanism.by_query:
        return alone
    of_query: dict[int, list[Place]] = {}
    for place, query in zip(alone, sites.query_of, strict=True):
        of_query.setdefault(query, []).append(place)
    contexts = {query: mechanism.query_context(places) for query, places in of_query.items()}
    return [Place(place.point, place.row, contexts[query]) for place, query in zip(alone, sites.query_of, strict=True)]


def _tokens_by_site(sites: Sites) -> list[NDArray[np.int64]]:
    order = np.argsort(sites.site_of, kind="stable")
    bounds = np.searchsorted(sites.site_of[order], np.arange(len(sites.points) + 1))
    return [order[start:stop] for start, stop in itertools.pairwise(bounds)]


def by_distance(distance: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows by increasing (distance, row).

    NumPy's fastest sort is not stable, which matters only between equal distances: there are hardly ever any.

    >>> by_distance(np.array([2.0, 1.0, 2.0, 0.0]))
    array([3, 1, 0, 2])
    """
    order = np.argsort(distance)
    ordered = distance[order]
    return np.argsort(distance, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def invert(weights: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return, for each uniform number, the position at which the cumulated weights pass its share of the total.

    A weight of 0 is never chosen.

    >>> invert(np.array([1.0, 0.0, 1.0]), np.array([0.0, 0.49, 0.5, 0.99]))
    array([0, 0, 2, 2])
    """
    cumulated = np.cumsum(weights)
    positions = np.searchsorted(cumulated, uniforms * cumulated[-1], side="right")
    # A product of a number just below 1 can round up to the total; the last position with weight is meant.
    last = int(np.searchsorted(cumulated, cumulated[-1], side="left"))
    return np.minimum(positions, last).astype(np.int64)
