"""Mechanisms that add noise to a word's vector and send a word near the noisy point.

All of them draw a direction uniformly on the sphere, a radius Y ~ Gamma(n, 1/epsilon) and, for the Vickrey
variants, a coin; they differ in how the direction is stretched and in which near word is taken. Settings that
share their noise therefore share the product of the direction with the vocabulary, which is nearly all the cost.
"""

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, MetricDP
from quipukit.mechanisms.base import EPSILON_GRID, Streams, Tick, Variants, check_epsilon
from quipukit.mechanisms.wordoptions import random_order
from quipukit.mechanisms.words import GAUSSIAN, KEEP, UNIFORM, UNSET, Sites, WordMechanism, find_sites, uniform_rows
from quipukit.threads import single_threaded_blas

# Rows of noise in memory at a time: a few blocks for each thread.
_ROWS = 4096

# Tokens of a query whose noise is drawn at a time. Part of what a stream is: another number would give other noise to
# queries that are longer.
_SEGMENT = 1024


@dataclass(frozen=True)
class NoiseDraw:
    """Noise for some tokens: unit directions, radii at epsilon = 1, coins, and points for Gaussian unknowns."""

    directions: NDArray[np.float64]
    radii: NDArray[np.float64]
    coins: NDArray[np.float64]
    gaussian: NDArray[np.float64]


def draw_noise(rng: np.random.Generator, length: int, dimension: int, gaussian: int = 0) -> NoiseDraw:
    """Draw the noise of one variant; the coins come late, so that mechanisms without one see the same noise."""
    directions = rng.standard_normal((length, dimension))
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    while not norms.all():  # only a broken or tiny-state generator gets here; a direction of 0 is no direction
        directions = np.where(norms > 0, directions, rng.standard_normal((length, dimension)))
        norms = np.linalg.norm(directions, axis=1, keepdims=True)
    directions /= norms
    radii = rng.standard_gamma(dimension, length)
    return NoiseDraw(directions, radii, rng.random(length), rng.standard_normal((gaussian, dimension)))


@dataclass(frozen=True, kw_only=True)
class Perturbation(WordMechanism):
    """A mechanism that sends a word near phi(x) + Y * A u."""

    strategy: ClassVar[str] = "embedding perturbation"
    parameter: ClassVar[str] = "epsilon"
    grid: ClassVar[tuple[float, ...]] = EPSILON_GRID
    default: ClassVar[float | None] = 10.0
    applies_word_options: ClassVar[bool] = True

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.name, self.epsilon))
        super().__post_init__()

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon, scope=self.scope)

    @property
    def noise_family(self) -> str:
        return "spherical"

    @property
    def shared_key(self) -> Hashable:
        return (Perturbation, self.words_key)

    def stretch(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A u for unit directions u."""
        return directions

    def noise(self, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Draw noise vectors Z = Y * A u, as the mechanism adds them."""
        drawn = draw_noise(rng, count, self.vectors.dimension)
        return (drawn.radii / self.epsilon)[:, None] * self.stretch(drawn.directions)

    def choose(
        self, found: NDArray[np.int64], distance: NDArray[np.float64], coins: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Choose between the nearest and the second nearest word of each noisy point."""
        return found[:, 0]

    @classmethod
    def obfuscate_batch(
        cls,
        group: Sequence[Any],
        queries: Sequence[tuple[str, str]],
        n: int,
        streams: Streams,
        tick: Tick = lambda _: None,
    ) -> list[list[Variants]]:
        vectors = group[0].vectors
        sites = find_sites(group[0], queries, group[0].bins)
        chosen = [np.full((len(sites.words), n), UNSET, np.int32) for _ in group]
        orders: dict[str, NDArray[np.int32] | None] = {}
        sharing: dict[str, list[tuple[Perturbation, NDArray[np.int32]]]] = {}
        owners = [streams.owner(member) for member in group]
        for owner, member, rows in zip(owners, group, chosen, strict=True):
            sharing.setdefault(owner, []).append((member.for_variants(n), rows))
        total = len(sites.words) * n
        for owner, members in sharing.items():
            shuffled = any(member.shuffle for member, _ in members)
            orders[owner] = np.empty((len(sites.words), n), np.int32) if shuffled else None
            pieces = _pieces(sites, queries, n, streams, owner)
            for batch, draws in _drawn_ahead(_batches(pieces, total), total, sites, orders[owner]):
                _obfuscate_pieces(members, sites, batch, draws)
                tick(sum(piece.length for piece in batch) / total * len(members) * len(queries))
            if not sites.words:
                tick(len(members) * len(queries))
        return [
            sites.texts(vectors, rows, orders[owner] if member.shuffle else None)
            for owner, member, rows in zip(owners, group, chosen, strict=True)
        ]


@dataclass(frozen=True)
class _Piece:
    """Some tokens of one variant of one query, and the generator that their noise comes from."""

    tokens: slice
    variant: int
    rng: np.random.Generator
    whole: slice | None = None  # all tokens of the variant, where these are the last

    @property
    def length(self) -> int:
        return int(self.tokens.stop - self.tokens.start)


def _pieces(sites: Sites, queries: Sequence[tuple[str, str]], n: int, streams: Streams, owner: str) -> Iterator[_Piece]:
    """Iterate over all variants in the order in which their noise is drawn, long queries in segments."""
    for query, variant in sites.units(n):
        rng = streams.stream(owner, *queries[query], variant)
        span = sites.span(query)
        for start in range(span.start, span.stop, _SEGMENT):
            stop = min(start + _SEGMENT, span.stop)
            yield _Piece(slice(start, stop), variant, rng, span if stop == span.stop else None)


def _batches(pieces: Iterator[_Piece], total: int) -> Iterator[list[_Piece]]:
    """Iterate over batches of nearly one size: a small last one would read the whole vocabulary for a few rows."""
    size = -(-total // max(1, -(-total // _ROWS)))
    batch: list[_Piece] = []
    rows = 0
    for piece in pieces:
        batch.append(piece)
        rows += piece.length
        if rows >= size:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _drawn_ahead(
    batches: Iterator[list[_Piece]], total: int, sites: Sites, order: NDArray[np.int32] | None
) -> Iterator[tuple[list[_Piece], list[NoiseDraw]]]:
    """Iterate over batches of ``total`` rows with their noise; the next one's is drawn while this one is searched for.

    By one thread, in their order: variants may share a generator.
    """
    dimension = int(sites.points.shape[1])

    def draw() -> tuple[list[_Piece], list[NoiseDraw]]:
        batch = next(batches)
        return batch, [_drawn(piece, sites, dimension, order) for piece in batch]

    with ThreadPoolExecutor(1) as ahead:  # which begins no thread unless there is a second batch
        drawn = draw() if total else None
        while drawn is not None:
            total -= sum(piece.length for piece in drawn[0])
            coming = ahead.submit(draw) if total > 0 else None
            yield drawn
            drawn = None if coming is None else coming.result()


def _obfuscate_pieces(
    members: "Sequence[tuple[Perturbation, NDArray[np.int32]]]",
    sites: Sites,
    pieces: Sequence[_Piece],
    draws: Sequence[NoiseDraw],
) -> None:
    """Obfuscate some pieces with mechanisms that share their noise, each into rows of its own."""
    from quipukit.vectors.nearest import nearest_two, norms_of

    first = members[0][0]
    vectors = first.vectors
    site_of = np.concatenate([sites.site_of[piece.tokens] for piece in pieces])
    coins = np.concatenate([draw.coins for draw in draws])
    # The threads of a BLAS keep spinning for milliseconds after a product, on the cores that the search below needs.
    with single_threaded_blas():
        # Stretched piece by piece: the rounding of a product may depend on its shape, and results must not.
        directions = np.concatenate([first.stretch(draw.directions) for draw in draws])
    radii = np.concatenate([draw.radii for draw in draws])
    bases = np.concatenate([sites.points, *(draw.gaussian for draw in draws)])
    base_of = site_of.copy()
    base_of[site_of == GAUSSIAN] = np.arange(len(sites.points), len(bases))

    noisy = base_of >= 0
    epsilons = np.array(sorted({member.epsilon for member, _ in members}))
    norms = vectors.derived("norms", lambda: norms_of(vectors.half_norms))
    nearest, distance = nearest_two(
        vectors.matrix, norms, bases, base_of[noisy], directions[noisy], radii[noisy, None] / epsilons
    )
    for member, chosen in members:
        column = int(np.searchsorted(epsilons, member.epsilon))
        rows = np.where(site_of == KEEP, KEEP, UNSET)
        rows[noisy] = member.choose(nearest[:, column], distance[:, column], coins[noisy])
        rows[site_of == UNIFORM] = uniform_rows(coins[site_of == UNIFORM], len(vectors))
        start = 0
        for piece in pieces:
            chosen[piece.tokens, piece.variant] = rows[start : start + piece.length]
            start += piece.length


def _drawn(piece: _Piece, sites: Sites, dimension: int, order: NDArray[np.int32] | None) -> NoiseDraw:
    """Draw the noise of a piece, and after the last one of a variant the order of its words, where one is wanted."""
    noise = draw_noise(piece.rng, piece.length, dimension, int((sites.site_of[piece.tokens] == GAUSSIAN).sum()))
    if order is not None and piece.whole is not None:
        order[piece.whole, piece.variant] = random_order(piece.rng, piece.whole.stop - piece.whole.start)
    return noise
