"""The compiled loop of the exact audit: the largest difference between the logarithms of two laws, for many pairs."""

import numpy as np

from quipukit.jit import numba

_LANES = 32  # maxima that are kept side by side: LLVM vectorizes those, but not one maximum of floats


@numba.njit(nogil=True, cache=True)
def largest_losses(values, first, out):  # type: ignore[no-untyped-def]
    """Write max over the columns of values[first + i] - values[other] to out[i, other], for every other row.

    Several rows at once: each of the others is then read from memory once for all of them.
    """
    width = values.shape[1]
    whole = width - width % _LANES
    tops = np.empty(_LANES)
    for other in range(values.shape[0]):
        against = values[other]
        for number in range(out.shape[0]):
            one = values[first + number]
            tops[:] = -np.inf
            for start in range(0, whole, _LANES):
                for lane in range(_LANES):
                    loss = one[start + lane] - against[start + lane]
                    tops[lane] = loss if loss > tops[lane] else tops[lane]
            largest = -np.inf
            for lane in range(_LANES):
                largest = max(largest, tops[lane])
            for column in range(whole, width):
                largest = max(largest, one[column] - against[column])
            out[number, other] = largest
