"""QueryExp: the exponential mechanism over the whole queries of a public pool."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.distances import FARTHEST, between
from quipukit.covers.encoded import CandidatePoints, EncodedPool, check_encoder
from quipukit.covers.load import load_partition
from quipukit.covers.partition import Partition
from quipukit.guarantees import Guarantee, MetricDP, NoGuarantee
from quipukit.mechanisms.base import QueryMechanism, Streams, Tick, Variants, check_epsilon, check_flag
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.exactsampling import distance_rounding, exact_positions
from quipukit.text import key

Floats = NDArray[np.float64]

_METRIC = "euclidean, sentence encodings"
_ENCODER = "static:default"
_ROWS = 8192  # candidates whose distances to what was sent are computed at a time


@dataclass(frozen=True, kw_only=True)
class QueryExp(QueryMechanism):
    """Send public queries instead of the query: any of the pool, exponentially less likely with distance.

    P(y | q) = exp(-epsilon d(q, y) / 2) / Z_q over *all* queries y of a public pool, d being the Euclidean distance of
    unit sentence encodings. What is sent are queries as people ask them; the number of words is not released. Which
    queries can come out never depends on q: with a support around q, what is left out would tell where q is.

    Guarantee: epsilon-metric DP per release, in the distance of the encodings; N variants are N releases, and spend N
    epsilon. A query of the pool may come out as it is, the more likely the larger epsilon.

    With ``exact`` queries come out with exactly these probabilities, not with those that rounding leaves of them
    (`exactsampling`).

    ``encoder`` is one of `quipukit.encoders`; a pool is encoded once. A query without a known word (length 0) lies at
    distance 1 of every query that has one: it comes out as any of them, alike.

    >>> from quipukit.covers.describe import Description
    >>> from quipukit.covers.make import make_partition
    >>> from quipukit.covers.pool import QueryPool
    >>> pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    >>> exp = QueryExp(epsilon=5, cover=make_partition(pool, 2, Description("static:default")))
    >>> pool.texts, np.exp(exp.log_probs("dogs")).round(2).tolist()
    (['cat food', 'dog food', 'income tax', 'tax return'], [0.23, 0.54, 0.11, 0.11])
    """

    name: ClassVar[str] = "QueryExp"
    summary: ClassVar[str] = "any query of a public pool, exponentially less likely with distance"
    strategy: ClassVar[str] = "sampling"
    reference: ClassVar[str] = "McSherry, Talwar, FOCS 2007: the exponential mechanism"
    parameter: ClassVar[str] = "epsilon"
    # What `covers.support.support_grid` gives for the built-in pool: from nearly all of its queries to ten of them.
    grid: ClassVar[tuple[float, ...]] = (5.4, 15.0, 17.0, 18.0, 20.0, 22.0, 27.0, 32.0, 42.0, 61.0)
    default: ClassVar[float | None] = 20.0
    shares_work: ClassVar[bool] = True

    epsilon: float
    cover: Partition = field(default=None, repr=False)  # type: ignore[assignment]
    encoder: str = _ENCODER
    exact: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        check_flag(self.name, "exact", self.exact)
        check_encoder(self.name, self.encoder, _ENCODER)
        if self.cover is None:
            object.__setattr__(self, "cover", load_partition())

    @property
    def guarantee(self) -> Guarantee:
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        metric = _METRIC if self.encoder == _ENCODER else f"{_METRIC} by {self.encoder}"
        return MetricDP(self.epsilon, metric, "query", rounding=self._rounding if self.exact else None)

    @property
    def _rounding(self) -> float:
        distances = distance_rounding(self.epsilon, int(self.encoded.rows.shape[1]), FARTHEST)
        # A logarithm of the table, a difference, is rounded once more; it is never below these.
        least = self.epsilon / 2 * FARTHEST + math.log(len(self.cover.pool))
        return distances + 4 * least * 2.0**-53

    @property
    def encoded(self) -> EncodedPool:
        """Return the pool as points; encoded on first use."""
        return EncodedPool.of(self.cover.pool, self.encoder)

    def log_probs(self, query: str) -> Floats:
        """Return ln P(y | query) for every query y of the pool, in its order."""
        return self._log_probs(self.encoded.distances(query))

    def _log_probs(self, distances: Floats) -> Floats:
        weights = -self.epsilon / 2 * (distances - distances.min())
        logs: Floats = weights - np.log(np.exp(weights).sum())
        return logs

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        return self._drawn(self.log_probs(query), n, rngs) if key(query) else Variants([], {"empty": 1})

    def _drawn(self, log_probs: Floats, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        """Draw from a law by one uniform number for each variant: the inverse of its cumulative sum."""
        generators = [rngs(variant) for variant in range(n)]
        uniforms = np.array([rng.random() for rng in generators])
        if self.exact:
            rows = exact_positions(log_probs, uniforms, generators.__getitem__)
        else:
            ends = np.cumsum(np.exp(log_probs))
            rows = np.minimum(np.searchsorted(ends, uniforms * ends[-1], side="right"), len(ends) - 1)
        return Variants([self.cover.pool.texts[row] for row in rows.tolist()])

    # --- several settings at once ---

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
        """Compute the distances of a query once for all settings."""
        if len(group) == 1 or change_since(cls, "obfuscate_batch"):
            return super().obfuscate_batch(group, queries, n, streams, tick)
        results: list[list[Variants]] = [[] for _ in group]
        for qid, query in queries:
            distances = group[0].encoded.distances(query) if key(query) else None
            for mechanism, result in zip(group, results, strict=True):
                owner = streams.owner(mechanism)
                result.append(
                    Variants([], {"empty": 1})
                    if distances is None
                    else mechanism._drawn(mechanism._log_probs(distances), n, _of(streams, owner, qid, query))
                )
                tick(1)
        return results

    # --- what an attacker knows ---

    def query_law(self, candidates: Sequence[str]) -> "ExponentialLaw":
        return ExponentialLaw(self, self.encoded.candidates(candidates))

    @classmethod
    def prepare_query_laws(cls, group: Sequence[Any], candidates: Sequence[str]) -> None:
        """Compute what all settings divide by in one pass over candidates and pool for each pool and encoder."""
        pools: dict[int, tuple[EncodedPool, list[float]]] = {}
        for one in group:
            encoded = one.encoded
            pools.setdefault(id(encoded), (encoded, []))[1].append(one.epsilon)
        for encoded, epsilons in pools.values():
            encoded.candidates(candidates).prepare(epsilons)


def _of(streams: Streams, owner: str, qid: str, query: str) -> Callable[[int], np.random.Generator]:
    return lambda variant: streams.stream(owner, qid, query, variant)


@dataclass(frozen=True, eq=False)
class ExponentialLaw:
    """ln P(texts | candidate): the sum over the texts of -epsilon d / 2 - ln Z.

    ln Z is off by at most `distances.error_bound`, 0.0014 at epsilon 20, so candidates whose likelihoods differ by
    more than twice that, times the number of texts, are in their true order.
    """

    mechanism: QueryExp
    candidates: CandidatePoints

    def log_likelihoods(self, texts: Sequence[str]) -> Floats:
        """Return the logarithms, in the order of the candidates; minus infinity if a text is not of the pool."""
        pool = self.mechanism.cover.pool
        rows, counts = np.unique([pool.row(text) for text in texts], return_counts=True)
        points = self.candidates.points
        if len(rows) and rows[0] < 0:
            return np.full(len(points), -np.inf)
        sent = self.mechanism.encoded.rows[rows.astype(np.int64)]
        far = np.empty(len(points))
        for start in range(0, len(points), _ROWS):
            part = points[start : start + _ROWS]
            far[start : start + _ROWS] = (between(sent, part) * counts).sum(axis=1)
        epsilon = self.mechanism.epsilon
        likelihoods: Floats = -epsilon / 2 * far - len(texts) * self.candidates.log_normalizers(epsilon)
        return likelihoods
