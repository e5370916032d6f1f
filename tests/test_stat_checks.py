"""The statistical assertions accept right data, refuse wrong data, and keep the rates they state."""

import numpy as np
import pytest
from scipy import stats

from tests.stat_checks import assert_binomial, assert_chi2, assert_ks, refuted


def rng() -> np.random.Generator:
    # Fixed seeds: what these tests check is the helpers, not luck.
    return np.random.default_rng(20240501)


def test_ks_accepts_its_own_law_and_refuses_a_neighbor():
    samples = rng().gamma(100, 1 / 10, size=20_000)
    assert_ks(samples, stats.gamma(100, scale=1 / 10).cdf)
    assert refuted(assert_ks, samples, stats.gamma(100, scale=1 / 10.2).cdf)


def test_ks_notices_a_wrong_shape_with_the_right_mean_and_spread():
    samples = rng().gamma(4, 1 / 2, size=20_000)
    assert_ks(samples, stats.gamma(4, scale=1 / 2).cdf)
    assert refuted(assert_ks, samples, stats.norm(2, 1).cdf)


@pytest.mark.slow
def test_ks_keeps_its_rate():
    alpha, runs, generator = 0.01, 1_000, rng()
    alarms = sum(refuted(assert_ks, generator.random(200), stats.uniform.cdf, alpha) for _ in range(runs))
    assert_binomial(alarms, runs, alpha)


def test_ks_says_where_it_fails():
    with pytest.raises(AssertionError, match=r"D = 1 at .*, 3 samples"):
        assert_ks([5.0, 6.0, 7.0], stats.uniform.cdf, alpha=0.5)


@pytest.mark.parametrize("samples", [[], [[1.0, 2.0]], [1.0, float("nan")], [float("inf")]])
def test_ks_without_a_question_is_an_error(samples):
    with pytest.raises(ValueError, match="samples must be"):
        assert_ks(samples, stats.norm.cdf)


def test_chi2_accepts_its_own_cells_and_refuses_others():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    counts = rng().multinomial(50_000, p)
    assert_chi2(counts, p)
    assert refuted(assert_chi2, counts, [0.47, 0.33, 0.15, 0.05])
    assert refuted(assert_chi2, counts, p[::-1])


def test_chi2_pools_rare_cells():
    p = np.append(np.full(1_000, 1e-6), [0.4, 0.599])
    counts = rng().multinomial(20_000, p)
    assert_chi2(counts, p)
    # Each of the rare cells is beyond judgment; all of them together are not.
    crowded = counts.copy()
    crowded[:200] += 1
    assert refuted(assert_chi2, crowded, p)


def test_chi2_fills_a_pool_that_is_too_small():
    # The pool expects 1 and 3 draws: it takes in the cell of 10, which leaves three cells.
    p = np.array([1, 3, 10, 40, 46]) / 100
    assert_chi2([1, 3, 10, 40, 46], p)
    assert refuted(assert_chi2, [0, 0, 60, 20, 20], p)


def test_chi2_judges_two_cells_exactly():
    p = stats.binomtest(16, 1_000, 0.005).pvalue
    assert 1e-6 < p < 1e-3
    assert_chi2([16, 984], [0.005, 0.995])
    # Pearson's own approximation would have called the same count a one-in-a-million event.
    assert stats.chisquare([16, 984], [5, 995]).pvalue < 1e-6


def test_chi2_refuses_an_impossible_draw():
    assert_chi2([500, 500, 0], [0.5, 0.5, 0.0])
    with pytest.raises(AssertionError, match="1 draws in cell 2 of probability 0"):
        assert_chi2([500, 499, 1], [0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("counts", "probabilities", "fault"),
    [
        ([1, 2], [0.2, 0.3, 0.5], "2 counts do not match 3 probabilities"),
        ([50, 50], [0.5, 0.4], "sum to 1"),
        ([50, 50], [1.5, -0.5], "zero or more"),
        ([50.5, 50], [0.5, 0.5], "whole numbers"),
        ([-1, 50], [0.5, 0.5], "whole numbers"),
        ([100], [1.0], "draw more samples"),
        ([0, 0], [0.5, 0.5], "draw more samples"),
        ([2, 2], [0.5, 0.5], "draw more samples"),
    ],
)
def test_chi2_without_a_question_is_an_error(counts, probabilities, fault):
    with pytest.raises(ValueError, match=fault):
        assert_chi2(counts, probabilities)


@pytest.mark.parametrize(("expectation", "stated"), [(5, 5e-5), (50, 4e-6)])
def test_chi2_keeps_the_rate_it_states(expectation, stated):
    # The heaviest tail that was found: two cells at the limit of pooling beside a large one, where they are
    # as good as independent Poisson counts. Summed over all outcomes, not sampled.
    n = 1_000_000
    p = np.array([expectation / n, expectation / n, 1 - 2 * expectation / n])
    x = np.arange(expectation * 5)
    weight = stats.poisson.pmf(x, expectation)
    first, second = np.meshgrid(x, x, indexing="ij")
    cells = np.stack([first, second, n - first - second], axis=-1)
    statistic = ((cells - n * p) ** 2 / (n * p)).sum(axis=-1)
    alarm = stats.chi2.sf(statistic, 2) < 1e-6
    rate = np.outer(weight, weight)[alarm].sum()
    assert 1e-6 < rate < stated
    # The enumeration above judges as the assertion itself does.
    for cell in [(expectation, expectation), tuple(np.argwhere(alarm)[0]), tuple(np.argwhere(~alarm)[-1])]:
        assert refuted(assert_chi2, cells[cell], p) == alarm[cell]


def test_binomial_accepts_its_own_rate_and_refuses_a_neighbor():
    successes = int(rng().binomial(100_000, 0.25))
    assert_binomial(successes, 100_000, 0.25)
    assert refuted(assert_binomial, successes, 100_000, 0.26)
    assert refuted(assert_binomial, successes, 100_000, 0.24)


def test_binomial_at_the_ends():
    assert_binomial(0, 1_000, 0.0)
    assert_binomial(1_000, 1_000, 1.0)
    assert refuted(assert_binomial, 1, 1_000, 0.0)
    assert refuted(assert_binomial, 999, 1_000, 1.0)


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_binomial_without_a_question_is_an_error(successes, trials):
    with pytest.raises(ValueError):  # noqa: PT011 - two of the messages are scipy's own
        assert_binomial(successes, trials, 0.5)


def test_refuted_lets_a_broken_check_through():
    with pytest.raises(ValueError, match="samples must be"):
        refuted(assert_ks, [], stats.norm.cdf)
    assert not refuted(lambda: None)
