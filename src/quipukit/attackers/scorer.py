"""Counting for attackers that give a score to every row of the log: few sets of texts at a time, and none twice.

At high values of epsilon many settings send the same: nothing but the query. What was counted for a set of texts and a
target is known when another setting has sent it.
"""

import functools
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.ahead import expect_next
from quipukit.attackers.base import Attacker, Sent
from quipukit.attackers.counter import Counted, Counter
from quipukit.attackers.found import Found
from quipukit.attackers.recent import at_once, held
from quipukit.attackers.wordspace import Slots
from quipukit.plugins import named_each
from quipukit.progress import Progress
from quipukit.threads import in_threads

Rows = NDArray[np.int64]
# An attacker by its number, and what it sees of each set.
Asked = Sequence[tuple[int, Attacker, Sequence[Sent]]]
Elsewhere = Callable[[Asked, Sequence[int], Sequence[Found], Progress | None, bool], None]

_REMEMBERED = 20_000  # sets of texts, with what all attackers found


class Scorer:
    """Counts for one log of ``size`` rows.

    ``lots`` says whose turn it is among rows of equal scores, ``rows`` where each row of the attackers' log stands in
    that of the caller.
    """

    def __init__(self, size: int, lots: Rows, rows: Rows) -> None:
        self.size, self._rows = size, rows
        self._counters = {False: Counter(None), True: Counter(lots)}
        self._known: dict[tuple[Any, ...], OrderedDict[bytes, list[Counted]]] = {}

    def count_distinct(
        self,
        attackers: Asked,
        places: Sequence[int],
        found: Sequence[Found],
        progress: Progress | None,
        guess: bool,
        elsewhere: "Elsewhere | None" = None,
    ) -> None:
        """Count for attackers that know the log alone: once for sets of texts that are the same.

        ``elsewhere`` counts in place of `count`, in other processes.
        """
        known = self._known.setdefault((guess, *(id(attacker) for _, attacker, _ in attackers)), OrderedDict())
        keys = [_key(place, [sent[i] for _, _, sent in attackers]) for i, place in enumerate(places)]
        fresh = {key: i for i, key in reversed(list(enumerate(keys))) if key not in known}
        # Sets with the same number of words side by side: such are compared with the log together.
        order = sorted(fresh.values(), key=lambda i: (Slots.of(attackers[0][2][i]).length, i))
        some = [(number, attacker, [sent[i] for i in order]) for number, attacker, sent in attackers]
        own = [Found.none(np.arange(len(order)), len(order)) for _ in found]
        wanted = [places[i] for i in order]
        if elsewhere is None:
            self.count(some, wanted, at_once(self.size), own, progress, guess)
        else:
            elsewhere(some, wanted, own, progress, guess)
        numbers = [number for number, _, _ in attackers]
        for at, i in enumerate(order):
            counts = ((own[number].better[at], own[number].tied[at], own[number].first[at]) for number in numbers)
            known[keys[i]] = [(int(better), int(tied), int(first)) for better, tied, first in counts]
        for i, key in enumerate(keys):
            for number, counted in zip(numbers, known[key], strict=True):
                one = found[number]
                one.better[i], one.tied[i], one.first[one.there[i]] = counted
        while len(known) > _REMEMBERED:
            known.popitem(last=False)

    def count(
        self,
        attackers: Asked,
        places: Sequence[int],  # of the targets in the attackers' order: to put every score into ours takes longer
        step: int,
        found: Sequence[Found],
        progress: Progress | None,
        guess: bool,
    ) -> None:
        """Count, ``step`` sets of texts at a time for one attacker after the other: all share what one has found."""
        few = min(step, held(self.size))
        for start in range(0, len(places), step):
            expect_next(((attacker, sent) for _, attacker, sent in attackers), start, step, self.size)
            for turn, (number, attacker, sent) in enumerate(attackers):
                own = found[number]
                some = named_each("attacker", attacker, attacker.scores_of(sent[start : start + step]))
                counting = functools.partial(self._counted, self._counters[guess], attacker)
                for first in range(start, min(start + step, len(places)), few):
                    last = min(first + few, start + step, len(places))
                    counted = in_threads(counting, zip(itertools.islice(some, few), places[first:last], strict=True))
                    own.better[first:last], own.tied[first:last], best = zip(*counted, strict=True)
                    own.first[own.there[first:last]] = self._rows[list(best)] if guess else -1
                    if progress:
                        within = turn * min(step, len(places) - start) + last - start
                        progress(start * len(attackers) + within, len(places) * len(attackers))
                next(some, None)  # lets it end: Bayes then says how many words it did not know

    def _counted(self, counter: Counter, attacker: Attacker, pair: tuple[Any, int]) -> Counted:
        return counter.counted(attacker, pair[0], pair[1], self.size)


def _key(place: int, sent: Sequence[Sent]) -> bytes:
    """Return what tells a target and what all attackers see of it from all others."""
    return hashlib.blake2b(repr((place, list(dict.fromkeys(sent)))).encode("utf-8", "surrogatepass")).digest()
