"""Statistical assertions with a stated false-alarm rate.

A check raises AssertionError when the data would be too unlikely if the claim were true. It raises
ValueError when it was not given a question at all (no samples, NaN, probabilities that do not sum to one):
that is a broken test, and `refuted` lets it through, so that a broken twin cannot pass for a refuted one.

    assert_ks(norms, scipy.stats.gamma(n, scale=1 / epsilon).cdf)
    assert refuted(assert_ks, norms, scipy.stats.gamma(n, scale=2 / epsilon).cdf)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Array = NDArray[np.float64]


def assert_ks(samples: ArrayLike, cdf: Callable[[Array], ArrayLike], alpha: float = 1e-6) -> None:
    """The samples follow the continuous distribution with this cumulative distribution function.

    Two-sided Kolmogorov-Smirnov test with the exact distribution of its statistic.
    False alarms: alpha for independent samples; fewer where the distribution has atoms.
    """
    values = np.asarray(samples, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"samples must be a non-empty row of numbers (found shape {values.shape})")
    if not np.isfinite(values).all():
        raise ValueError("samples must be finite")
    result = stats.kstest(values, cdf)
    if not result.pvalue >= alpha:
        raise AssertionError(
            f"Kolmogorov-Smirnov: p = {result.pvalue:.3g} < {alpha:g}; "
            f"D = {result.statistic:.4g} at {result.statistic_location:.6g}, {values.size} samples"
        )


def assert_chi2(counts: ArrayLike, probabilities: ArrayLike, alpha: float = 1e-6, *, smallest: float = 5.0) -> None:
    """The counts come from independent draws with these cell probabilities.

    Pearson's chi-square test. Cells with an expectation below `smallest` are pooled into one, which takes in
    the next larger cells until it is large enough itself. Two cells are tested exactly, as a binomial.
    A count in a cell of probability zero fails at once.

    False alarms: at most alpha for two cells; for more, alpha in the limit of large expectations. Near the
    limit of pooling the real tail is heavier than chi-square's: for 2 to 100 equally small cells beside a
    large one, summed over all outcomes with Poisson counts, alpha = 1e-6 stands for up to 5e-5 if they expect
    5, and for up to 4e-6 if they expect 50 (`smallest=50`). Other layouts have no proven bound.
    """
    observed, expected = _cells(counts, probabilities)
    impossible = expected == 0
    if observed[impossible].any():
        cell = int(np.flatnonzero(impossible & (observed > 0))[0])
        raise AssertionError(f"chi-square: {observed[cell]:.0f} draws in cell {cell} of probability 0")

    pooled_observed, pooled_expected = _pool(observed[~impossible], expected[~impossible], smallest)
    if pooled_observed.size < 2:
        raise ValueError(f"fewer than two cells expect {smallest:g} draws or more; draw more samples")
    if pooled_observed.size == 2:
        trials = int(pooled_observed.sum())
        assert_binomial(int(pooled_observed[0]), trials, pooled_expected[0] / pooled_expected.sum(), alpha)
        return

    shares = (pooled_observed - pooled_expected) ** 2 / pooled_expected
    degrees = shares.size - 1
    p_value = float(stats.chi2.sf(shares.sum(), degrees))
    if not p_value >= alpha:
        worst = int(shares.argmax())
        raise AssertionError(
            f"chi-square: p = {p_value:.3g} < {alpha:g}; {shares.sum():.1f} with {degrees} degrees; "
            f"the worst cell has {pooled_observed[worst]:.0f} draws and expects {pooled_expected[worst]:.1f}"
        )


def assert_binomial(successes: int, trials: int, p: float, alpha: float = 1e-6) -> None:
    """The successes come from this many independent trials with success probability p.

    Two-sided exact binomial test. False alarms: at most alpha.
    """
    if trials < 1:
        raise ValueError("there are no trials to judge by")
    result = stats.binomtest(successes, trials, p)
    if not result.pvalue >= alpha:
        raise AssertionError(
            f"binomial: p = {result.pvalue:.3g} < {alpha:g}; "
            f"{successes} of {trials} trials succeeded ({successes / trials:.4g}), claimed {p:.4g}"
        )


def refuted(check: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Whether the check fails: the other half of a statistical test, asked about something known to be wrong.

    A twin is missed at a rate that depends on how wrong it is and on the number of samples, not on alpha;
    choose both so that failing is beyond doubt.
    """
    try:
        check(*args, **kwargs)
    except AssertionError:
        return True
    return False


def _cells(counts: ArrayLike, probabilities: ArrayLike) -> tuple[Array, Array]:
    observed = np.asarray(counts, dtype=np.float64).ravel()
    p = np.asarray(probabilities, dtype=np.float64).ravel()
    if observed.shape != p.shape:
        raise ValueError(f"{observed.size} counts do not match {p.size} probabilities")
    if not ((observed >= 0) & (observed == np.floor(observed))).all():
        raise ValueError("counts must be whole numbers, zero or more")
    if not (p >= 0).all() or not np.isclose(p.sum(), 1.0, rtol=0.0, atol=1e-9):
        raise ValueError(f"probabilities must be zero or more and sum to 1 (found {p.sum():.12g})")
    return observed, p * observed.sum()


def _pool(observed: Array, expected: Array, smallest: float) -> tuple[Array, Array]:
    order = np.argsort(expected, kind="stable")
    observed, expected = observed[order], expected[order]
    small = int(np.searchsorted(expected, smallest))
    if small == 0:
        return observed, expected
    # Cells of rising size are taken in until the pool is large enough; all of them, if it never is.
    cut = max(small, int(np.searchsorted(np.cumsum(expected), smallest)) + 1)
    return (
        np.append(observed[cut:], observed[:cut].sum()),
        np.append(expected[cut:], expected[:cut].sum()),
    )
