"""MaxSim: one variant that stays near the original is enough, however far the others are.

A centroid forgets a single text that leaked. MaxSim looks at every text on its own, and takes the most similar one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.lengths import less_costs
from quipukit.attackers.recent import held
from quipukit.attackers.scratch import room, stored
from quipukit.attackers.tokens import Ids, divided
from quipukit.attackers.wordspace import Singles, Slots, WordSpace, unit
from quipukit.errors import SpecError
from quipukit.jit import numba
from quipukit.progress import Progress
from quipukit.threads import in_threads, iter_in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_TILE = 2048  # rows of the log at a time


@dataclass(kw_only=True, eq=False)
class MaxSim(Attacker):
    """The score of a query is the largest cosine of its sum of word directions with that of any text sent.

    Sums are taken along the ``dimension`` principal directions of the log: N texts cost N times as much as a centroid.
    Where what was sent agrees on a number of words, queries with another number come later.
    """

    name = "MaxSim"
    summary = "largest similarity of a log's query to any single text that was sent"

    vectors: Vectors = field(default_factory=load_vectors)
    dimension: int = 64

    def __post_init__(self) -> None:
        """Check the options."""
        if self.dimension < 1:
            raise SpecError(f"MaxSim: dimension is {self.dimension}; give a number from 1 on.")

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Find the principal directions of the log, and the place of every query along them."""
        self._space = WordSpace.of(self.vectors, log.tokens)
        sums, of_row = self._space.sums, self._space.bags.of_row
        gram = _gram(sums, of_row)
        ((_, directions),) = in_threads(np.linalg.eigh, [gram])  # small: one thread is faster than two that wait
        self._axes = directions[:, ::-1][:, : self.dimension].astype(np.float32)
        # One row for all queries with the same words and the same number of words, by that number: queries of one
        # length lie together.
        pairs = log.tokens.lengths.astype(np.int64)
        pairs *= max(1, len(sums))
        pairs += of_row
        self._of_row = room((len(pairs),), np.int32)
        distinct = _number(pairs, np.argsort(pairs, kind="stable"), self._of_row)
        del pairs
        self._lengths = stored((distinct // max(1, len(sums))).astype(np.int32), len(log))
        bags = stored(distinct % max(1, len(sums)), len(log))
        del distinct
        self._before = stored(_before(bags, len(sums)), len(log))
        self._rows = room((len(bags), self._axes.shape[1]))

        def project(start: int) -> None:
            self._rows[start : start + _TILE] = unit(sums[bags[start : start + _TILE]] @ self._axes)

        in_threads(project, range(0, len(bags), _TILE))

    def scores(self, sent: Sent) -> Floats:
        """Return the largest cosine."""
        slots = Slots.of(sent)
        texts = list(dict.fromkeys(divided(sent.texts)))
        points = unit(self._space.sum_of(texts) @ self._axes).astype(np.float32)
        points = points[points.any(axis=1)]  # a text without known words is like no query, not unlike all
        best = Buffers.of(self._space.tokens).empty((len(self._rows),), np.float32)
        best[:] = 0
        # Where the number of words decides, queries of other lengths need no comparison: they come last anyway.
        nearby = np.array([slots.length - 1, slots.length + 2], np.int32)
        first, last = np.searchsorted(self._lengths, nearby) if slots.agreed else (0, 0)
        if first == last:
            first, last = 0, len(best)
        if points.size:
            for at in range(first, last, _TILE):
                stop = min(at + _TILE, last)
                # Points by rows: the largest of every column takes a third of the time of the largest of every row.
                best[at:stop] = (points @ self._rows[at:stop].T).max(axis=0)
            _make_equal(best, self._before, first, last)
        return less_costs(best, self._of_row, slots, self._space.tokens)

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Score several at a time, in threads."""
        step = held(len(self._space.tokens))
        for start in range(0, len(batch), step):
            yield from in_threads(self.scores, batch[start : start + step])


def _gram(sums: Singles, of_row: Ids) -> Floats:
    """Return the sum over the queries of a log of the squares of their sums of directions."""
    times = np.bincount(of_row, minlength=len(sums)).astype(np.float32)[:, None]
    gram = np.zeros((sums.shape[1], sums.shape[1]))
    tiles = [slice(start, start + _TILE) for start in range(0, len(sums), _TILE)]
    # A few at a time: of a long log all together take as much memory as a tenth of the sums.
    for products in iter_in_threads(lambda tile: sums[tile].T @ (sums[tile] * times[tile]), tiles):
        gram += products
    return gram


@numba.njit(nogil=True, cache=True)
def _number(pairs, order, numbers):  # type: ignore[no-untyped-def]
    """Number the pairs that differ, in their order, and return them."""
    distinct = np.empty_like(pairs)
    count = 0
    for row in order:
        if not count or pairs[row] != distinct[count - 1]:
            distinct[count] = pairs[row]
            count += 1
        numbers[row] = count - 1
    return distinct[:count]


@numba.njit(nogil=True, cache=True)
def _before(bags, count):  # type: ignore[no-untyped-def]
    """Return for every row the one before it with the same words; -1 where it is the first."""
    seen = np.full(count, -1, np.int32)
    before = np.empty(bags.shape[0], np.int32)
    for row in range(bags.shape[0]):
        before[row] = seen[bags[row]]
        seen[bags[row]] = row
    return before


@numba.njit(nogil=True, cache=True)
def _make_equal(scores, before, first, last):  # type: ignore[no-untyped-def]
    """Give rows with the same words the same score: the place of a row may change the last bits of a product."""
    for row in range(first, last):
        if before[row] >= first:
            scores[row] = scores[before[row]]
