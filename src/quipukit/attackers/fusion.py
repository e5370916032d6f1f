"""Fusion: several attackers ask each other.

Each member ranks the log. The share of the log that stands at least as high as a query is the chance that a query
picked at random would do as well; Fisher's method multiplies these chances over the members. So a query that all find
likely beats one that a single member puts first, and no member's scale matters.

Reference: Fisher. Statistical Methods for Research Workers. 4th edition, 1932, section 21.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats, KnownLog, Sent
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.lexical import Lexical
from quipukit.attackers.positional import Positional
from quipukit.attackers.recent import held
from quipukit.attackers.scratch import room
from quipukit.attackers.style import Style
from quipukit.attackers.ties import extremes
from quipukit.attackers.words import Words
from quipukit.jit import fixed, numba
from quipukit.progress import Progress
from quipukit.threads import in_threads
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

_BINS = 4096
_EXACT = 2048  # about as many of the best of each member are ranked one by one; the others by their scores' bins


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
        self._style: dict[tuple[str, ...], Floats] = {}
        self._at_once, self._buffers = held(len(log)), Buffers.of(log.tokens)

    def scores(self, sent: Sent) -> Floats:
        """Return the fused score."""
        return next(Fusion.scores_of(self, [sent]))

    def scores_of(self, batch: Sequence[Sent]) -> Iterator[Floats]:
        """Let every member score several at once."""
        for start in range(0, len(batch), self._at_once):
            some = batch[start : start + self._at_once]
            found = [list(member.scores_of(some)) for member, _ in self._members]
            yield from in_threads(self._fused, zip(some, zip(*found, strict=True), strict=True))

    def expect(self, batch: Sequence[Sent]) -> None:
        """Tell the members."""
        for member, _ in self._members:
            member.expect(batch)

    def _fused(self, part: "tuple[Sent, Sequence[Floats]]") -> Floats:
        sent, scores = part
        style = fixed(self._style_part(sent.others, scores[-1]))
        bins = self._buffers.empty((len(scores) - 1, len(style)), np.int16)
        members = [
            _chances(one, own, weight)
            for one, own, (_, weight) in zip(scores[:-1], bins, self._members[:-1], strict=True)
        ]
        total: Floats = self._buffers.empty((len(style),))
        _without(style, bins, np.array([member.logs for member in members]), total)
        rows = np.unique(np.concatenate([member.best for member in members]))
        exact = -style[rows]
        for member, own in zip(members, bins, strict=True):
            chances = member.logs[own[rows]]
            chances[np.searchsorted(rows, member.best)] = member.exact
            exact -= chances
        total[rows] = exact
        return total

    def _style_part(self, others: tuple[str, ...], scores: Floats) -> Floats:
        """Return what Style adds, which is the same for all that is guessed with the same queries of others."""
        if others not in self._style:
            part = room((len(scores),), np.float64)
            part[:] = self._members[-1][1] * log_chances(scores)
            self._style[others] = part
        return self._style[others]


def log_chances(scores: Floats) -> Floats:
    """Return ln(rank / number of scores), where the highest has rank 1 and equal scores share their mean rank.

    Exact for the best; beyond them, scores that fall into one of some thousand bins count as equal.

    >>> np.exp(log_chances(np.array([0.5, 2.0, 0.5, 1.0]))).round(3).tolist()
    [0.875, 0.25, 0.875, 0.5]
    """
    bins = np.empty(len(scores), np.int16)
    chances = _chances(scores, bins)
    found: Floats = chances.logs[bins]
    found[chances.best] = chances.exact
    return found


class _Chances(NamedTuple):
    """The logarithm for every bin of scores, and that of the rows whose bins are the highest."""

    logs: Floats
    best: "NDArray[np.int64]"
    exact: Floats


def _chances(scores: Floats, bins: "NDArray[np.int16]", weight: float = 1.0) -> _Chances:
    """Write the bin of every score, and return what it is worth."""
    limits, scores = extremes(scores), fixed(np.ascontiguousarray(scores, np.float64))
    logs, best = _binned(scores, bins, *limits)
    order = np.argsort(-scores[best], kind="stable")
    values = -scores[best[order]]
    ranks = (np.searchsorted(values, values, "left") + np.searchsorted(values, values, "right") + 1) / 2
    exact = np.empty(len(best))
    exact[order] = np.log(ranks / max(1, len(scores)))
    return _Chances(logs * weight, best, exact * weight)


@numba.njit(nogil=True, cache=True)
def _binned(scores, bins, low, high):  # type: ignore[no-untyped-def]
    """Write the bin of every score; return the logarithm for every bin, and the rows whose bins are the highest."""
    size = scores.shape[0]
    # By halves: the distance of the largest numbers is infinite.
    span = high / 2 - low / 2
    if span > 0:
        for i in range(size):
            bins[i] = int((scores[i] / 2 - low / 2) / span * (_BINS - 1))
    else:
        bins[:] = 0
    counts = np.zeros(_BINS, np.int64)
    for i in range(size):
        counts[bins[i]] += 1
    logs = np.empty(_BINS)
    above, bar = 0, _BINS - 1
    for b in range(_BINS - 1, -1, -1):
        if above < _EXACT:
            bar = b
        logs[b] = np.log((above + (counts[b] + 1) / 2) / max(1, size))
        above += counts[b]
    lowest, highest = np.inf, -np.inf  # of the last of these bins: often thousands of equal scores, which have no order
    for i in range(size):
        if bins[i] == bar:
            lowest, highest = min(lowest, scores[i]), max(highest, scores[i])
    if lowest >= highest:
        bar += 1
    best = np.empty(counts[bar:].sum(), np.int64)
    place = 0
    for i in range(size):
        if bins[i] >= bar:
            best[place] = i
            place += 1
    return logs, best


@numba.njit(nogil=True, cache=True)
def _without(style, bins, logs, total):  # type: ignore[no-untyped-def]
    for i in range(total.shape[0]):
        sum_ = -style[i]
        for member in range(bins.shape[0]):
            sum_ -= logs[member, bins[member, i]]
        total[i] = sum_
