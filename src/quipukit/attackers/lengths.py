"""The number of words as evidence: mechanisms that replace words one by one do not hide it.

It is the modal number over what was sent. One more or less is tolerated, at a cost: punctuation is a word to some
tokenizers and nothing to others.
"""

import numpy as np

from quipukit.attackers.base import Floats
from quipukit.attackers.buffers import Buffers
from quipukit.attackers.tokens import Ids, LogTokens
from quipukit.attackers.wordspace import Singles, Slots
from quipukit.jit import fixed, numba

ONE_OFF = 0.1
FURTHER_OFF = 2.2  # more than cosines can differ by: such queries come after all others


def costs_by_length(slots: Slots, longest: int) -> Floats:
    """Return what queries of 0, 1, ... words lose, up to the longest; nothing where no number of words is agreed on."""
    size = max(longest, slots.length) + 2
    if not slots.agreed:
        return np.zeros(size)
    costs = np.full(size, FURTHER_OFF)
    costs[max(0, slots.length - 1) : slots.length + 2] = ONE_OFF
    costs[slots.length] = 0.0
    return costs


def less_costs(values: Singles, of_row: Ids, slots: Slots, tokens: LogTokens) -> Floats:
    """Return the value that every query of a log has, ``values[of_row]``, less what its number of words costs."""
    costs = costs_by_length(slots, tokens.longest)
    scores: Floats = Buffers.of(tokens).empty((len(of_row),))
    _less_costs(fixed(values), fixed(of_row), costs, fixed(tokens.lengths), scores)
    return scores


@numba.njit(nogil=True, cache=True)
def _less_costs(values, of_row, costs, lengths, scores):  # type: ignore[no-untyped-def]
    for row in range(scores.shape[0]):
        scores[row] = np.float64(values[of_row[row]]) - costs[lengths[row]]
