"""Where a target stands among an attacker's scores, and which row comes first."""

import mmap
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker
from quipukit.attackers.checks import checked_scores
from quipukit.attackers.ties import count, count_and_best

Counted = tuple[int, int, int]


class Counter:
    """Counts; for scores that are handed out again and again, such as those of Style, once for every target."""

    def __init__(self, turns: "NDArray[np.int64] | None") -> None:
        """Take whose turn it is among rows of equal scores; None where nobody asks for the first guess."""
        self._turns = turns
        self._known: dict[tuple[int, int], tuple[weakref.ref[Any], Counted]] = {}

    def counted(self, attacker: Attacker, scored: Any, place: int, rows: int) -> Counted:
        """Return how many scores are higher than the one at a place, how many others equal it, and the first place.

        The first is -1 where nobody asks for it.
        """
        fixed = _is_fixed(scored)
        reference, known = self._known.get((id(scored), place), (None, (0, 0, 0)))
        # An array that is gone may have left its number to another.
        if fixed and reference is not None and reference() is scored:
            return known
        scores, limits = checked_scores(attacker, scored, rows)
        found: Counted = (
            (*count(scores, place, limits), -1)
            if self._turns is None
            else count_and_best(scores, place, self._turns, limits)
        )
        if fixed:
            key = (id(scored), place)
            self._known[key] = weakref.ref(scored, lambda _: self._known.pop(key, None)), found
        return found


def _is_fixed(scored: Any) -> bool:
    """Return whether scores cannot change any more: they cannot be written, and are no view of some that can."""
    return (
        isinstance(scored, np.ndarray)
        and not scored.flags.writeable
        and (scored.base is None or isinstance(scored.base, mmap.mmap))
    )
