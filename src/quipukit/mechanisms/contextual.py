"""Contextual CMP and Mahalanobis: noise on the encoding of the whole query, then the nearest query of a public pool."""

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.encoded import EncodedPool, check_encoder
from quipukit.covers.load import load_partition
from quipukit.covers.partition import Partition
from quipukit.guarantees import Guarantee, MetricDP, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Streams, Tick, Variants, check_epsilon, check_share
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.mahalanobis import SINGULAR, Ellipsoid, ellipsoid
from quipukit.mechanisms.perturbation import NoiseDraw, draw_noise
from quipukit.specs import format_value
from quipukit.text import key

Floats = NDArray[np.float64]

_ENCODER = "static:default"
_ROWS = 2048  # noisy points that are searched for at a time


@dataclass(frozen=True, kw_only=True)
class ContextualCMP(QueryMechanism):
    """Add spherical noise to the encoding of a query and send the nearest query of a public pool.

    v = phi(q) + Y u, phi(q) the encoding at length 1, u uniform on the unit sphere of its n dimensions and
    Y ~ Gamma(n, 1/epsilon); the query of the pool that is nearest to v is sent, by exact search. Every variant of every
    query has noise of its own. What is sent are queries as people ask them; the number of words is not released.

    Guarantee: epsilon-metric DP per release, in the Euclidean distance of unit encodings; the search is
    post-processing. N variants spend N epsilon. A query of the pool may come out as it is, the more likely the larger
    epsilon. In n dimensions noise is about n/epsilon long, and queries are at most 2 apart: useful epsilons are large,
    and promise little for queries that are far apart.

    Reference: De Faveri, Faggioli, Ferro. DP-COMET: a differential privacy contextual obfuscation mechanism for texts
    in natural language processing. 2025. The released code shares one noise vector between all queries, scales it by
    1/sqrt(n), and takes the largest inner product.

    >>> from quipukit.covers.describe import Description
    >>> from quipukit.covers.make import make_partition
    >>> from quipukit.covers.pool import QueryPool
    >>> pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    >>> one = ContextualCMP(epsilon=1e5, cover=make_partition(pool, 2, Description("static:default")))
    >>> one.obfuscate("dogs", 2)
    ['dog food', 'dog food']
    """

    name: ClassVar[str] = "ContextualCMP"
    summary: ClassVar[str] = "spherical noise on the query's encoding, then the nearest query of a public pool"
    strategy: ClassVar[str] = "embedding perturbation"
    reference: ClassVar[str] = "De Faveri et al., 2025 (DP-COMET)"
    parameter: ClassVar[str] = "epsilon"
    grid: ClassVar[tuple[float, ...]] = (20.0, 50.0, 75.0, 100.0, 125.0, 150.0, 200.0, 250.0, 350.0, 500.0)
    default: ClassVar[float | None] = 125.0
    shares_work: ClassVar[bool] = True
    surveyed: ClassVar[bool] = False

    epsilon: float
    cover: Partition = field(default=None, repr=False)  # type: ignore[assignment]
    encoder: str = _ENCODER

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        check_encoder(self.name, self.encoder, _ENCODER)
        if self.cover is None:
            object.__setattr__(self, "cover", load_partition())

    @property
    def guarantee(self) -> Guarantee:
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        return MetricDP(self.epsilon, self._metric("euclidean, sentence encodings"), "query")

    def _metric(self, name: str) -> str:
        return name if self.encoder == _ENCODER else f"{name} by {self.encoder}"

    @property
    def encoded(self) -> EncodedPool:
        """Return the pool as points; encoded on first use."""
        return EncodedPool.of(self.cover.pool, self.encoder)

    # --- noise ---

    def stretch(self, directions: Floats) -> Floats:
        """Return A u for unit directions u."""
        return directions

    def noise(self, rng: np.random.Generator, count: int) -> Floats:
        """Draw noise vectors Z = Y * A u, as the mechanism adds them."""
        drawn = self._draw(rng, count)
        return (drawn.radii / self.epsilon)[:, None] * self.stretch(drawn.directions)

    def _draw(self, rng: np.random.Generator, count: int = 1) -> NoiseDraw:
        return draw_noise(rng, count, int(self.encoded.rows.shape[1]))

    # --- queries ---

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        if not key(query):
            return Variants([], {"empty": 1})
        drawn = [self._draw(rngs(variant)) for variant in range(n)]
        return Variants(self._nearest([self], self.encoded.point(query)[None], np.zeros(n, np.int64), drawn)[0])

    @staticmethod
    def _nearest(
        members: "Sequence[ContextualCMP]", points: Any, point_of: NDArray[np.int64], draws: Sequence[NoiseDraw]
    ) -> list[list[str]]:
        """Return the nearest query of each noisy point, for members that share their noise."""
        from quipukit.vectors.nearest import nearest_two, norms_of

        first = members[0]
        if not draws:
            return [[] for _ in members]
        places, texts = first.encoded.vectors, first.cover.pool.texts
        norms = places.derived("norms", lambda: norms_of(places.half_norms))
        epsilons = np.array(sorted({member.epsilon for member in members}))
        # Stretched one by one: the rounding of a product may depend on its shape, and results must not.
        directions = np.concatenate([first.stretch(draw.directions) for draw in draws])
        radii = np.concatenate([draw.radii for draw in draws])[:, None] / epsilons
        found, _ = nearest_two(places.matrix, norms, np.asarray(points, np.float64), point_of, directions, radii)
        columns = np.searchsorted(epsilons, [member.epsilon for member in members])
        return [[texts[row] for row in found[:, column, 0].tolist()] for column in columns]

    # --- several settings and queries at once ---

    @property
    def shared_key(self) -> Hashable:
        return (type(self), self.encoder, id(self.cover.pool))

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        """Search for the points of many queries at once; settings that share their noise share products too."""
        if cls.variants is not ContextualCMP.variants:  # a plugin's own way, which this one would pass by
            return super().obfuscate_batch(group, queries, n, streams, tick)
        results: list[list[Variants]] = [[Variants([], {"empty": 1}) for _ in queries] for _ in group]
        asked = [place for place, (_, query) in enumerate(queries) if key(query)]
        encoded: EncodedPool = group[0].encoded
        points = {query: encoded.point(query) for query in dict.fromkeys(queries[place][1] for place in asked)}
        sharing: dict[str, list[int]] = {}
        for number, member in enumerate(group):
            sharing.setdefault(streams.owner(member), []).append(number)
        step = max(1, _ROWS // max(1, n))
        for owner, numbers in sharing.items():
            members = [group[number] for number in numbers]
            for start in range(0, len(asked), step):
                some = asked[start : start + step]
                draws = [members[0]._draw(streams.stream(owner, *queries[q], v)) for q in some for v in range(n)]
                bases = np.array([points[queries[place][1]] for place in some])
                texts = cls._nearest(members, bases, np.repeat(np.arange(len(some)), n), draws)
                for number, own in zip(numbers, texts, strict=True):
                    for at, place in enumerate(some):
                        results[number][place] = Variants(own[at * n : (at + 1) * n])
                tick(len(members) * len(some))
            tick(len(members) * (len(queries) - len(asked)))
        return results


@dataclass(frozen=True, kw_only=True)
class ContextualMhl(ContextualCMP):
    """ContextualCMP with noise in the shape of the pool.

    v = phi(q) + Y A u, with A the symmetric root of lambda Sigma + (1 - lambda) I, Sigma the covariance of the pool's
    encodings scaled to the trace n; ``lam`` is lambda. The pool is public, and so is its shape. With ``lam`` = 1 the
    static encodings, which all lie in one plane of n - 1 dimensions, leave it flat.

    Guarantee: epsilon-metric DP per release, in the Mahalanobis distance of unit encodings. None where the ellipsoid is
    flat.

    Reference: as ContextualCMP, whose released code divides A u by its norm, which loses the guarantee.
    """

    name: ClassVar[str] = "ContextualMhl"
    summary: ClassVar[str] = "noise in the shape of a public pool, then its nearest query"
    shares_work: ClassVar[bool] = True

    lam: float = 0.75

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", check_share(self.name, "lam", self.lam))
        super().__post_init__()
        if self.lam and self.ellipsoid.smallest < SINGULAR:
            warnings.warn(
                f"{self.name}: the pool's ellipsoid is flat (smallest eigenvalue {self.ellipsoid.smallest:.2g}), so "
                "queries that differ in its flat directions are not protected; use lam=0.75 or less.",
                stacklevel=3,
            )

    @property
    def ellipsoid(self) -> Ellipsoid:
        """Return the shape of the noise."""
        return ellipsoid(self.encoded.vectors, self.lam)

    @property
    def guarantee(self) -> Guarantee:
        if not self.lam:
            return MetricDP(self.epsilon, self._metric("euclidean, sentence encodings"), "query")
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        if self.ellipsoid.smallest < SINGULAR:
            return NoGuarantee("the ellipsoid is flat: pairs that differ off it are not protected (use lam < 1)")
        metric = "mahalanobis, sentence encodings"
        return MetricDP(
            self.epsilon, self._metric(metric if self.lam == 1 else f"{metric}, lam={format_value(self.lam)}"), "query"
        )

    @property
    def shared_key(self) -> Hashable:
        return (super().shared_key, self.lam)

    def stretch(self, directions: Floats) -> Floats:
        # Not divided by its norm again: that would lose the guarantee (see Mahalanobis).
        return directions @ self.ellipsoid.factor.T if self.lam else directions
