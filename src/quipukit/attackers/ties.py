"""Which scores are equal, where an attacker gives scores on a scale of its own.

Sums of the same numbers in another order differ in their last bits, and must tie. Log-likelihoods of -10,000 and
probabilities of 1e-15 must not: no absolute number is small on every scale.
"""

import numpy as np

from quipukit.attackers.base import Floats
from quipukit.attackers.ranks import EQUAL


def tolerance(scores: Floats, own: float) -> float:
    """Return by how much a score may differ from ``own``, one of the scores for a query, and still be equal to it.

    It is relative to ``own``: sums of numbers of one sign are exact to a few of their last bits, whatever their size.
    Where scores have both signs, what is left of a sum that cancels is as large as the last bits of its parts. Then
    they are equal up to the same share of the largest score too, or of 1 where that is less: one row with a huge
    penalty must not make all others equal.

    >>> tolerance(np.array([0.9, 2e-15, 1e-15]), 1e-15) < 1e-15
    True
    """
    largest = float(np.abs(scores).max(initial=0.0))
    cancels = bool((scores > 0).any() and (scores < 0).any())
    return EQUAL * max(abs(own), min(1.0, largest) if cancels else 0.0)


def rounded(scores: Floats) -> Floats:
    """Return the scores for a query without the digits in which equal ones may differ.

    >>> len(set(rounded(np.array([0.1 + 0.2, 0.3, 0.3 + 1e-9])).tolist()))
    2
    """
    mantissas, exponents = np.frexp(scores)
    values = np.ldexp(np.round(mantissas, _DIGITS), exponents)
    return np.where(np.abs(scores) <= tolerance(scores, 0.0), 0.0, values)


_DIGITS = round(-np.log10(EQUAL))
