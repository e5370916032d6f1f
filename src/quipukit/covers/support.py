"""Where the epsilons of an exponential mechanism over a pool are worth trying: from all of the pool to ten queries.

The *effective support* of a law is exp(entropy): m for a uniform law over m queries. At a small epsilon it is the whole
pool; it falls to 1, within a factor of two or three in epsilon, because nearly all queries are about equally far away.
"""

import numpy as np
from numpy.typing import NDArray

from quipukit.covers.distances import distances
from quipukit.covers.encoded import EncodedPool
from quipukit.threads import in_threads

Floats = NDArray[np.float64]

_LADDER = np.geomspace(0.5, 5000, 140)
_MOST = 0.98  # of the pool: the first value of a grid
_SAMPLE = 50


def effective_support(log_probs: Floats) -> float:
    """Return exp(entropy) of a law.

    >>> round(effective_support(np.log([0.25, 0.25, 0.25, 0.25])), 6)
    4.0
    """
    probs = np.exp(log_probs)
    return float(np.exp(-(probs * np.where(probs > 0, log_probs, 0.0)).sum()))


def support_grid(pool: EncodedPool, count: int = 10, least: float = 10.0, sample: int = _SAMPLE) -> tuple[float, ...]:
    """Return epsilons at which the effective support falls from nearly all of a pool to ``least`` queries.

    It is the median over queries drawn from the pool, which is public: no user's query plays a part. One half of the
    values is for queries of the pool, whose own weight is 1 from the start; the other for queries outside it, by
    leaving each of the drawn ones out. Steps are equal in the logarithm of the support; values have two digits.
    """
    rows = np.random.default_rng(0).choice(len(pool.rows), min(sample, len(pool.rows)), replace=False)
    supports = np.array(in_threads(lambda row: _supports(pool, row), rows.tolist()))  # by row, outside or not, epsilon
    values: set[float] = set()
    most = _MOST * len(pool.rows)
    for outside, number in ((0, count - count // 2), (1, count // 2)):
        falling = np.log(np.median(supports[:, outside], axis=0))
        # Both halves begin alike, with nearly all of the pool: once is enough.
        wanted = np.linspace(np.log(most), np.log(min(least, most)), number + outside)[outside:]
        values |= {float(f"{one:.2g}") for one in np.exp(np.interp(-wanted, -falling, np.log(_LADDER)))}
    return tuple(sorted(values))


def _supports(pool: EncodedPool, row: int) -> Floats:
    far = distances(pool.rows, pool.rows[row])
    return np.array([[_support(some, epsilon) for epsilon in _LADDER] for some in (far, np.delete(far, row))])


def _support(far: Floats, epsilon: float) -> float:
    logs = -epsilon / 2 * (far - far.min())
    return effective_support(logs - np.log(np.exp(logs).sum()))
