"""Studentized intervals and tests with exchanged labels: exact for few, honest for skewed differences."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from benchmarks.small_samples import LAWS, error_rates, score_coverage
from quipukit.errors import InputError
from quipukit.measures import bootstrap, resampling
from quipukit.measures.resampling import (
    _flipped,
    flip_bound,
    judge_paired,
    judge_unpaired,
    studentized_intervals,
)
from tests.examples import slowly
from tests.stat_checks import refuted

UNIT = (-1.0, 1.0)


def test_few_differences_are_tested_by_all_flips() -> None:
    differences = np.array([[0.3], [0.1], [0.4], [-0.2], [0.25]])
    sums = [abs(np.dot(signs, differences[:, 0])) for signs in product((-1, 1), repeat=5)]
    exact = np.mean([total >= differences.sum() - 1e-12 for total in sums])
    flipped = _flipped(differences, differences.mean(axis=0), 2000, np.random.default_rng(0))
    assert flipped.item() == pytest.approx(exact)
    assert judge_paired(differences, limits=UNIT).p >= exact


@pytest.mark.parametrize("queries", [1, 2, 5, 8])
def test_p_is_never_below_what_so_few_pairs_can_show(queries: int) -> None:
    assert judge_paired(np.full((queries, 1), 0.3), limits=UNIT).p >= 2.0 ** (1 - queries)


def test_one_query_proves_nothing() -> None:
    low, high, p = judge_paired(np.array([[0.9]]), limits=UNIT)
    assert np.isnan([low.item(), high.item()]).all() and p.item() == 1
    assert np.isnan(studentized_intervals(np.array([[0.9]]), limits=(0.0, 1.0))).all()
    assert judge_unpaired(np.array([[0.9]]), np.zeros((5, 1)), limits=UNIT).p == 1


def test_equal_differences_have_no_interval_and_none_is_no_difference() -> None:
    low, high, p = judge_paired(np.column_stack([np.zeros(30), np.full(30, 0.02)]), limits=UNIT, replicates=999)
    assert np.isnan(low).all() and np.isnan(high).all()
    assert p.tolist() == [1, pytest.approx(2 / 1000)]
    same = np.random.default_rng(0).random((20, 1))
    assert judge_unpaired(same, same, limits=UNIT).p > 0.9


def test_swapping_the_sides_changes_the_sign_alone() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.exponential(0.2, (25, 2)), rng.exponential(0.2, (25, 2))
    forth, back = (judge_paired(sign * (first - second), limits=UNIT) for sign in (1, -1))
    assert back.low.tolist() == pytest.approx((-forth.high).tolist()) and back.p.tolist() == forth.p.tolist()


def test_the_interval_leans_with_the_sample() -> None:
    """A skewed sample: the mean may well be higher than seen, and hardly lower."""
    sample = stats.expon.ppf((np.arange(30) + 0.5) / 30, scale=0.1)[:, None]
    low, high = studentized_intervals(sample, limits=(0.0, 1.0))
    assert high - sample.mean() > 1.2 * (sample.mean() - low)


def test_intervals_stay_within_their_limits() -> None:
    low, high, _ = judge_paired(np.array([[1.0], [0.0], [0.0]]), limits=UNIT)
    assert low >= -1 and high <= 1


def test_the_bound_without_draws_is_above_the_flips() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.2, 0.5):
        differences = rng.normal(shift, 1, (12, 1))
        exact = _flipped(differences, differences.mean(axis=0), 10_000, rng).item()
        assert exact <= flip_bound(differences[:, 0]) <= 1
    assert flip_bound(np.full(60, 0.3)) < 1e-11 and flip_bound(np.zeros(5)) == 1


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("law", "queries"), [("normal", 10), ("hits", 20), *slowly(("QuIPU", 10), ("exponential", 43))]
)
def test_equal_means_are_called_different_in_at_most_5_percent(law: str, queries: int) -> None:
    """1,000 samples, a test at 5 %. False alarms: below 1e-6 if the rate is 5 % at most.

    The twin is the percentile bootstrap, which was used before, on skewed differences of 10 queries.
    """
    rates = error_rates(LAWS[law], queries, runs=1000, seed=4)

    def check(rate: float) -> None:
        assert stats.binom.sf(round(rate * 1000) - 1, 1000, 0.05) >= 1e-6, rate

    check(rates.paired)
    assert refuted(check, error_rates(LAWS["exponential"], 10, runs=1000, seed=4).percentile)


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [1.0, 5.0])
def test_independent_samples_of_equal_means_too(spread: float) -> None:
    """Of unequal size and spread, 800 pairs in one go. False alarms: below 1e-6 if the rate is 5 %."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(0, 1, (12, 800)), rng.normal(0, spread, (30, 800))
    p = judge_unpaired(first, second, limits=(-9.0, 9.0), replicates=500).p
    assert stats.binom.sf(int((p <= 0.05).sum()) - 1, 800, 0.05) >= 1e-6


@pytest.mark.statistical
def test_intervals_of_curves_with_rare_hits_miss_hardly_more_than_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 curves of 20 queries, at most 7 % may miss. False alarms: below 1e-6.

    The twin gives an interval to every curve, also where no query was found at all, and misses in about 19 %.
    """

    def missed() -> float:
        return score_coverage((0.02, 0.05, 0.1), (0.4, 0.5, 0.6), 20, runs=300, seed=3)["quipu"].missed

    def check(rate: float) -> None:
        assert stats.binom.sf(round(rate * 300) - 1, 300, 0.07) >= 1e-6, rate

    check(missed())
    monkeypatch.setattr(bootstrap, "LEAST_FOUND", 0)
    assert refuted(check, missed())


@pytest.mark.statistical
@pytest.mark.parametrize("queries", [10, 43])
def test_what_is_said_of_one_query_in_twenty_is_so(queries: int) -> None:
    """Samples without a winner are all alike: 0.95^n of them, and no test knows better. False alarms: below 1e-6."""
    rates = error_rates(LAWS["one in twenty"], queries, runs=500, seed=5)
    expected = 0.95**queries

    def check(rate: float) -> None:
        assert min(stats.binom.cdf(n := round(rate * 500), 500, expected), stats.binom.sf(n - 1, 500, expected)) > 5e-7

    check(rates.without)
    assert rates.paired >= rates.without
    assert refuted(check, 0.05 if queries == 10 else 0.5)


def test_replicates_must_be_some() -> None:
    with pytest.raises(InputError, match="replicates"):
        judge_paired(np.zeros((3, 1)), limits=UNIT, replicates=0)


@pytest.mark.parametrize("seed", [3, "a generator"])
def test_draws_that_are_kept_change_nothing(seed: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = np.random.default_rng(1).normal(size=(2, 12, 3))

    def judged() -> list[np.ndarray]:
        source = np.random.default_rng(5) if isinstance(seed, str) else seed
        wishes = {"limits": (-9.0, 9.0), "replicates": 700, "seed": source}
        paired = judge_paired(first - second, **wishes), judge_paired(first, **wishes)
        return [*(each for one in paired for each in one), *judge_unpaired(first, second[:9], **wishes)]

    twice = judged(), judged()
    monkeypatch.setattr(resampling, "_MOST_KEPT", 0)
    for one, other, anew in zip(*twice, judged(), strict=True):
        assert np.array_equal(one, other) and np.array_equal(one, anew)
