"""The number of words as evidence: mechanisms that replace words one by one do not hide it.

It is the modal number over what was sent. One more or less is tolerated, at a cost: punctuation is a word to some
tokenizers and nothing to others.
"""

import numpy as np

from quipukit.attackers.base import Floats
from quipukit.attackers.scratch import is_long
from quipukit.attackers.tokens import Ids, LogTokens
from quipukit.attackers.wordspace import Slots

ONE_OFF = 0.1
FURTHER_OFF = 2.2  # more than cosines can differ by: such queries come after all others


def length_cost(slots: Slots, lengths: Ids) -> Floats:
    """Return what queries with these numbers of words lose; nothing where what was sent does not agree on one."""
    if not slots.agreed:
        return np.zeros(len(lengths))
    costs = np.full(max(int(lengths.max(initial=0)), slots.length) + 2, FURTHER_OFF)
    costs[max(0, slots.length - 1) : slots.length + 2] = ONE_OFF
    costs[slots.length] = 0.0
    return costs[lengths]


def length_costs(slots: Slots, tokens: LogTokens) -> Floats:
    """Return what every query of a log loses; not to be changed: it is computed once for each number of words.

    Of a long log every time: to look them up again takes less than to read them from where there is room for them.
    """

    def build() -> Floats:
        costs = length_cost(slots, tokens.lengths)
        costs.flags.writeable = False
        return costs

    if is_long(len(tokens)):
        return build()
    return tokens.derived(("length costs", slots.length if slots.agreed else None), build)
