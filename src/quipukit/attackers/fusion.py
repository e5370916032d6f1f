"""Fusion: several attackers ask each other.

Each member ranks the log. The share of the log that stands at least as high as a query is the chance that a query
picked at random would do as well; Fisher's method multiplies these chances over the members. So a query that all find
likely beats one that a single member puts first, and no member's scale matters.

Reference: Fisher. Statistical Methods for Research Workers. 4th edition, 1932, section 21.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.positional import Positional
from quipukit.attackers.style import Style
from quipukit.attackers.words import Words
from quipukit.jit import numba
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_BATCH = 16
_BINS = 4096
_EXACT = 2048  # of the best of each member are ranked one by one; the others by the bin that their score falls into


@dataclass(kw_only=True, eq=False)
class Fusion(Attacker):
    """The score of a query is -sum of ln(rank / size of the log) over Words, Positional, Lexical and Style."""

    name = "Fusion"
    summary = "fuses the ranks of Words, Positional, Lexical and Style"
    reference = "Fisher. Statistical Methods for Research Workers. 1932."
    learns_from_others = True

    vectors: Vectors = field(default_factory=load_vectors)

    def __post_init__(self) -> None:
        """Choose the members, with their weights."""
        self._members: list[tuple[Attacker, float]] = [
            (Words(vectors=self.vectors), 1.0),
            (Positional(vectors=self.vectors), 1.0),
            (Lexical(), 1.0),
            (Style(vectors=self.vectors), 0.2),
        ]

    def prepare(self, log: KnownLog, progress: Progress | None = None) -> None:
        """Let every member learn the log."""
        for member, _ in self._members:
            member.prepare(log)

    def scores(self, sent: Sent) -> Floats:
        """Return the fused score."""
        return next(self.scores_of([sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Let every member score several at once."""
        for start in range(0, len(batch), _BATCH):
            some = batch[start : start + _BATCH]
            found = [list(member.scores_of(some)) for member, _ in self._members]
            yield from in_threads(self._fused, zip(*found, strict=True))

    def _fused(self, scores: Sequence[Floats]) -> Floats:
        size = max(1, len(scores[0]))
        parts = [weight * -np.log(ranks(one) / size) for one, (_, weight) in zip(scores, self._members, strict=True)]
        total: Floats = np.sum(parts, axis=0)
        return total


def ranks(scores: Floats) -> Floats:
    """Return the rank of every score from 1, the highest; equal scores share their mean rank.

    Exact for the best; beyond them, scores that fall into one of some thousand bins count as equal.

    >>> ranks(np.array([0.5, 2.0, 0.5, 1.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    scores = np.ascontiguousarray(scores, np.float64)
    found = _binned(scores)
    top = min(_EXACT, len(scores))
    if not top:
        return found
    bar = np.partition(scores, len(scores) - top)[len(scores) - top]
    best = np.flatnonzero(scores > bar)
    order = np.argsort(-scores[best], kind="stable")
    values = scores[best][order]
    first = np.searchsorted(-values, -values, "left")
    last = np.searchsorted(-values, -values, "right")
    found[best[order]] = (first + last + 1) / 2
    return found


@numba.njit(nogil=True, cache=True)
def _binned(scores):  # type: ignore[no-untyped-def]
    size = scores.shape[0]
    found = np.ones(size)
    if size == 0:
        return found
    low, high = scores.min(), scores.max()
    if low == high:
        found[:] = (size + 1) / 2
        return found
    scale = (_BINS - 1) / (high - low)
    counts = np.zeros(_BINS, np.int64)
    for i in range(size):
        counts[int((scores[i] - low) * scale)] += 1
    means = np.empty(_BINS)
    above = 0
    for b in range(_BINS - 1, -1, -1):
        means[b] = above + (counts[b] + 1) / 2
        above += counts[b]
    for i in range(size):
        found[i] = means[int((scores[i] - low) * scale)]
    return found
