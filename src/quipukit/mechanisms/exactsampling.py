"""Draw from a table of weights with exactly the probabilities that the table states.

The usual way, a sum of rounded exponentials and a uniform number of 53 bits, gives every row a probability that is off
by up to about 1e-11, and never draws what has less than 1e-16: some outputs are then impossible from one word and not
from another. Here the uniform number has as many bits as it takes. Nearly always 53 of them decide, by sums in float64
whose error is bounded. Where a boundary between two rows lies within that bound, 64 more bits are drawn, and the
weights are computed again as integers, from exponentials that Python's decimal arithmetic rounds correctly to any
number of digits; and so on, until one row is certain.

So row i comes out with probability exp(l_i) / sum_j exp(l_j), exactly, l being the numbers of the table: no error is
left but that of the table itself (`distance_rounding`).
"""

import decimal
import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_DRAWN = 53  # bits of a uniform number of NumPy
_MORE = 64
_UNIT = 2.0**-53
# Of each weight, in units of rounding: assumed of NumPy's exponential, which stays within 1 where it was measured.
_EXPONENTIAL = 16


class Bits(Protocol):
    """Where further bits come from: a NumPy generator is one."""

    def bytes(self, length: int) -> bytes:
        """Return random bytes."""


def exact_positions(log_weights: Floats, uniforms: Floats, further: Callable[[int], Bits]) -> NDArray[np.int64]:
    """Return a row of the table for every uniform number, each with its exact probability.

    ``uniforms`` are multiples of 2^-53, as NumPy draws them; ``further(i)`` gives what continues the i-th of them.

    >>> exact_positions(np.log([1.0, 2.0, 1.0]), np.array([0.1, 0.3, 0.9]), np.random.default_rng)
    array([0, 1, 2])
    """
    flat = np.ravel(uniforms)
    cumulated = np.cumsum(np.exp(log_weights - log_weights.max()))
    total = float(cumulated[-1])
    # Weights are off by 0.4 units (their exponents) and `_EXPONENTIAL` units of themselves, sums of n of them by n
    # units of the total, which is at least 1; all of that counts for the sum and for the total.
    slack = (4 * len(log_weights) + 4 * _EXPONENTIAL) * _UNIT * total
    low = np.searchsorted(cumulated, flat * total - slack, side="right")
    high = np.searchsorted(cumulated, (flat + _UNIT) * total + slack, side="right")
    for number in np.flatnonzero((low != high) | (high == len(log_weights))):
        bits = int(flat[number] * 2**_DRAWN)
        low[number] = _refined(log_weights, bits, further(int(number)))
    return low.reshape(np.shape(uniforms)).astype(np.int64)


def _refined(log_weights: Floats, bits: int, further: Bits) -> int:
    known = _DRAWN
    while True:
        bits = (bits << _MORE) | int.from_bytes(further.bytes(_MORE // 8), "little")
        known += _MORE
        digits = math.ceil((known + len(log_weights).bit_length() + 8) * math.log10(2))
        position = _certain(integer_weights(log_weights, digits), bits, known)
        if position is not None:
            return position


def integer_weights(log_weights: Floats, digits: int) -> list[int]:
    """Return exp(l - the largest l) * 10^digits for each, as whole numbers that are off by less than 1."""
    with decimal.localcontext() as context:
        # A difference of numbers below 10^10 is then off by 10^-(digits + 15): nothing beside the last digit.
        context.prec = digits + 25
        context.Emin, context.Emax = decimal.MIN_EMIN, decimal.MAX_EMAX
        largest = decimal.Decimal(float(log_weights.max()))
        least = -digits * math.log(10) - 1  # what is smaller rounds to 0
        return [
            int(((decimal.Decimal(one) - largest).exp()).scaleb(digits).to_integral_value()) if gap > least else 0
            for one, gap in zip(log_weights.tolist(), (log_weights - log_weights.max()).tolist(), strict=True)
        ]


def _certain(weights: list[int], bits: int, known: int) -> int | None:
    """Return the position in which all numbers that begin with these bits lie; None where that is not certain."""
    error = len(weights)  # of a sum of weights that are each off by less than 1
    cumulated = list(accumulate(weights))
    total = cumulated[-1]
    position = bisect_right(cumulated, bits * total >> known)
    if position == len(weights):
        return None
    before = cumulated[position - 1] + error if position else 0
    after = cumulated[position] - error
    begins = before << known <= bits * (total - error)
    # The last row reaches to 1, whatever the sums are.
    ends = position == len(weights) - 1 or (bits + 1) * (total + error) <= after << known
    return position if begins and ends else None


def distance_rounding(epsilon: float, dimension: int, farthest: float) -> float:
    """Return how much the rounding of distances adds to a loss, at most, where l = -epsilon d / 2.

    A distance in float64 is a root of a sum of ``dimension`` squares: off by (dimension / 2 + 2) units of itself. The
    difference to the least distance, and its product with epsilon / 2, are rounded once more each. ln P(y | x) has two
    such errors, in the weight and in the sum of all weights, and a loss compares two inputs.
    """
    each = epsilon * farthest * (dimension / 2 + 3) * _UNIT
    return 4 * each * (1 + 1e-6)  # the square of a unit is not zero
