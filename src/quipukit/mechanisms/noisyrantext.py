"""NoisyRANTEXT: a random adjacency list around a noisy point, which is what it takes to keep a promise."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, MetricDP
from quipukit.mechanisms.base import EPSILON_GRID, Streams, Tick, Variants, check_epsilon, check_whole
from quipukit.mechanisms.perturbation import NoiseDraw, draw_noise
from quipukit.mechanisms.wordoptions import random_order
from quipukit.mechanisms.words import KEEP, UNIFORM, UNSET, Sites, WordMechanism, find_sites, uniform_rows

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_ROWS = 2048  # noisy points that are searched for at a time


@dataclass(frozen=True, kw_only=True)
class NoisyRANTEXT(WordMechanism):
    """Draw a list of words around a noisy point, and from the list a word that is near the original.

    The list are the k words nearest to phi(x) + Y u, the noise of CMP at epsilon/2: Y ~ Gamma(n, 2/epsilon), u uniform
    on the sphere. From it y is drawn by the exponential mechanism at epsilon/2: P(y | list) ~ exp(-(epsilon/4) d(x,y)).
    With ``k`` = 1 this is CMP at epsilon/2.

    Guarantee: epsilon-metric DP for the Euclidean distance of the vectors. The list is post-processing of a release at
    epsilon/2; given the list, whichever it is, the draw is one more at epsilon/2.

    Reference: the idea of a random adjacency list is RANTEXT's (Tong et al., IEEE TDSC 2025); see there for what its
    own lists do not keep.

    >>> from quipukit.vectors.store import Vectors
    >>> pets = Vectors(["cat", "dog", "cow"], np.eye(3))
    >>> NoisyRANTEXT(epsilon=1e6, k=2, vectors=pets).obfuscate("Dog, cat!", n=2, rng=np.random.default_rng(0))
    ['dog cat', 'dog cat']
    """

    name: ClassVar[str] = "NoisyRANTEXT"
    summary: ClassVar[str] = "a near word out of a list around a noisy point: RANTEXT with a promise"
    strategy: ClassVar[str] = "embedding perturbation"
    reference: ClassVar[str] = "after Tong et al., IEEE TDSC 2025 (InferDPT)"
    parameter: ClassVar[str] = "epsilon"
    grid: ClassVar[tuple[float, ...]] = EPSILON_GRID
    default: ClassVar[float | None] = 10.0
    applies_word_options: ClassVar[bool] = True
    surveyed: ClassVar[bool] = False

    epsilon: float
    k: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        object.__setattr__(self, "k", check_whole(self.name, "k", self.k, 1))
        super().__post_init__()
        if self.oov == "gaussian":
            raise SpecError(f"{self.name} has no random places for unknown words (oov='gaussian'); use oov='anchor'.")

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon, scope=self.scope)

    @property
    def shared_key(self) -> Hashable:
        return (type(self), self.spec)

    def noise(self, draw: NoiseDraw) -> Floats:
        """Return the noise of the points that lists are drawn around."""
        vectors: Floats = (2 * draw.radii / self.epsilon)[:, None] * draw.directions
        return vectors

    def list_weights(self, lists: Rows, points: Floats) -> Floats:
        """Return the weight of every word of a list, which falls with its distance from the word itself."""
        away = np.linalg.norm(self.vectors.matrix[lists].astype(np.float64) - points[:, None], axis=2)
        weights: Floats = np.exp(-self.epsilon / 4 * (away - away.min(axis=1, keepdims=True)))
        return weights

    def choose(self, points: Floats, draw: NoiseDraw) -> Rows:
        """Return a row for each point: its list around a noisy point, and a word from that."""
        from quipukit.vectors.nearest import top_k

        vectors = self.vectors
        lists = top_k(vectors.matrix, vectors.half_norms, points + self.noise(draw), min(self.k, len(vectors)))
        weights = np.cumsum(self.list_weights(lists, points), axis=1)
        passed = weights <= (draw.coins * weights[:, -1])[:, None]
        # A product of a coin just below 1 can round up to the total: then the last word with weight is meant.
        last = (weights < weights[:, -1:]).sum(axis=1)
        chosen: Rows = lists[np.arange(len(lists)), np.minimum(passed.sum(axis=1), last)]
        return chosen

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        results = []
        for member in group:
            sites = find_sites(member, queries, member.bins)
            rows, order = member.for_variants(n)._rows(sites, queries, n, streams, streams.owner(member), tick)
            results.append(sites.texts(member.vectors, rows, order if member.shuffle else None))
        return results

    def _rows(
        self, sites: Sites, queries: Sequence[tuple[str, str]], n: int, streams: Streams, owner: str, tick: Tick
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        rows = np.full((len(sites.words), n), UNSET, np.int32)
        order = np.zeros((len(sites.words), n), np.int32)
        waiting: list[tuple[slice, int, NoiseDraw]] = []

        def search() -> None:
            draws = [draw for _, _, draw in waiting]
            drawn = NoiseDraw(*(np.concatenate([getattr(draw, part) for draw in draws]) for part in _PARTS))
            site_of = np.concatenate([sites.site_of[span] for span, _, _ in waiting])
            found = np.where(site_of == KEEP, KEEP, UNSET)
            found[site_of == UNIFORM] = uniform_rows(drawn.coins[site_of == UNIFORM], len(self.vectors))
            placed = site_of >= 0
            if placed.any():
                own = NoiseDraw(drawn.directions[placed], drawn.radii[placed], drawn.coins[placed], drawn.gaussian)
                found[placed] = self.choose(sites.points[site_of[placed]], own)
            start = 0
            for span, variant, draw in waiting:
                rows[span, variant] = found[start : start + len(draw.radii)]
                start += len(draw.radii)
            tick(len(waiting) / max(1, n))
            waiting.clear()

        for query, variant in sites.units(n):
            rng = streams.stream(owner, *queries[query], variant)
            span, length = sites.span(query), sites.length(query)
            waiting.append((span, variant, draw_noise(rng, length, self.vectors.dimension)))
            order[span, variant] = random_order(rng, length) if self.shuffle else np.arange(length)
            if sum(len(draw.radii) for _, _, draw in waiting) >= _ROWS:
                search()
        if waiting:
            search()
        tick(sum(not sites.length(query) for query in range(len(sites.flags))))
        return rows, order


_PARTS = ("directions", "radii", "coins", "gaussian")
