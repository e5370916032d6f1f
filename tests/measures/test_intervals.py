"""Bounds for means of scores: against exact laws, coverage for any distribution, and a twin that falls short."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quipukit.errors import InputError
from quipukit.measures.intervals import (
    clopper_pearson,
    lower_bounds,
    mean_intervals,
    most_hits,
    queries_needed,
    upper_bounds,
)
from tests.examples import slowly
from tests.stat_checks import refuted


def column(*scores: float) -> np.ndarray:
    return np.array(scores)[:, None]


def hits(found: int, queries: int) -> np.ndarray:
    return (np.arange(queries) < found).astype(float)[:, None]


# --- hits ---


def test_nothing_found_is_not_taken_for_nothing_to_find() -> None:
    """0 of 12 was [0, 0] in the report and [0, 0.265] in recommend; it is one interval."""
    low, high = mean_intervals(hits(0, 12), hits=True)
    assert low.item() == 0 and f"{high.item():.3f}" == "0.265"
    low, high = mean_intervals(hits(12, 12), hits=True)
    assert high.item() == 1 and f"{low.item():.3f}" == "0.735"


@pytest.mark.parametrize("found", [0, 1, 5, 42, 43])
def test_hits_have_the_interval_of_clopper_and_pearson(found: int) -> None:
    low, high = mean_intervals(hits(found, 43), hits=True)
    exact = stats.binomtest(found, 43).proportion_ci(0.95, "exact")
    assert (low.item(), high.item()) == pytest.approx((exact.low, exact.high), abs=2e-4)
    assert low.item() <= exact.low and high.item() >= exact.high


def test_the_bound_covers_every_rate_exactly() -> None:
    """Summed over all numbers of hits; the percentile bootstrap, which never doubts a 0, falls far short."""
    queries, alpha = 43, 0.025
    found = np.arange(queries + 1)
    exact = clopper_pearson(found, queries, alpha)
    percentile = stats.binom.ppf(1 - alpha, queries, found / queries) / queries
    for p in (0.01, 0.05, 0.1, 0.3, 0.7):
        law = stats.binom.pmf(found, queries, p)
        assert law[exact >= p].sum() >= 1 - alpha
    law = stats.binom.pmf(found, queries, 0.05)
    assert law[percentile >= 0.05].sum() < 0.9


def test_ties_are_counted_against_the_user_over_their_order() -> None:
    tied = np.full((10, 1), 0.5)
    assert most_hits(tied).item() == stats.binom.ppf(0.999, 10, 0.5)
    assert most_hits(column(1, 1, 0.5, 0, 0)).item() == 3
    assert most_hits(np.full((40, 1), 1e-4)).item() == 1  # level with thousands: found in 1 case of 250
    assert most_hits(np.hstack([tied, hits(3, 10)])).tolist() == [most_hits(tied).item(), 3]


@pytest.mark.statistical
@pytest.mark.parametrize("tie", [0.05, 0.5, 0.9])
def test_the_bound_covers_expected_hits(tie: float) -> None:
    """Scores 1, a tie or 0; of 4,000 samples of 40 at most 5 % exceed the bound. False alarms: below 1e-6.

    The twin takes the sum of the scores for the number of hits, as was done before, and rounds it down.
    """
    rng = np.random.default_rng(5)
    law = np.array([0.1, 0.3, 0.6])
    samples = rng.choice((1.0, tie, 0.0), size=(40, 4000), p=law)
    truth = 0.1 + 0.3 * tie

    def check(bounds: np.ndarray) -> None:
        assert stats.binom.sf(int((bounds < truth).sum()) - 1, 4000, 0.05) >= 1e-6

    check(upper_bounds(samples, 0.05, hits=True))
    assert refuted(check, upper_bounds(np.floor(samples), 0.05, hits=True))


# --- bets ---

LAWS = {
    "reciprocal ranks": (
        lambda rng, size: 1 / rng.geometric(0.02, size),
        sum(0.02 * 0.98 ** (k - 1) / k for k in range(1, 5000)),
    ),
    "skewed": (lambda rng, size: rng.beta(0.2, 1.8, size), 0.1),
    "rare": (lambda rng, size: 0.5 * (rng.random(size) < 0.1), 0.05),
    "hits": (lambda rng, size: 1.0 * (rng.random(size) < 0.3), 0.3),
    "symmetric": (lambda rng, size: rng.beta(4, 4, size), 0.5),
}


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("queries", [10, *slowly(43)])
def test_bets_cover_the_mean_of_any_law(law: str, queries: int) -> None:
    """Of 2,000 samples at most 5 % lie beyond a bound, on either side. False alarms: below 1e-5 over all.

    The twin adds 1.645 standard errors, which is right in the limit and wrong for few or skewed scores.
    """
    draw, truth = LAWS[law]
    samples = draw(np.random.default_rng(7), (queries, 2000))

    def check(beyond: np.ndarray) -> None:
        assert stats.binom.sf(int(beyond.sum()) - 1, 2000, 0.05) >= 1e-6

    check(upper_bounds(samples, 0.05, hits=False) < truth)
    check(lower_bounds(samples, 0.05, hits=False) > truth)
    if law != "symmetric" and queries == 10:
        normal = samples.mean(axis=0) + 1.645 * samples.std(axis=0, ddof=1) / np.sqrt(queries)
        assert refuted(check, normal < truth)


def test_a_small_variance_helps_and_the_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    wide, narrow = rng.beta(1, 1, (100, 1)), rng.beta(20, 20, (100, 1))
    widths = [np.ptp(mean_intervals(scores, hits=False)) for scores in (wide, narrow)]
    assert widths[1] < 0.5 * widths[0] and widths[0] < 0.2
    assert upper_bounds(wide[::-1], 0.05, hits=False) == pytest.approx(upper_bounds(wide, 0.05, hits=False))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.booleans())
def test_the_mean_lies_inside_and_smaller_errors_are_wider(scores: list[float], are_hits: bool) -> None:
    matrix = column(*scores)
    low, high = mean_intervals(matrix, hits=are_hits)
    wider = mean_intervals(matrix, 0.999, hits=are_hits)
    assert 0 <= wider[0] <= low + 1e-8 and high - 1e-8 <= wider[1] <= 1
    assert low - 1e-9 <= matrix.mean() <= high + 1e-9


# --- how many ---


def test_how_many_queries_are_needed() -> None:
    assert queries_needed(np.zeros(43), 0.1, 0.05 / 86, hits=True) == 71
    assert queries_needed(np.zeros(5), 0.1, 0.025, hits=True) == 36
    assert queries_needed(np.array([1.0, 0.0]), 0.5, 0.05, hits=True) == np.inf
    assert queries_needed(np.zeros(5), 0.0, 0.05, hits=True) == np.inf
    assert queries_needed(np.ones(5), 1.0, 0.05, hits=True) == 1
    sample = np.random.default_rng(3).beta(0.2, 3.8, 50)
    needed = int(queries_needed(sample, 0.1, 0.001, hits=False))
    times = needed // 50 + 1
    assert upper_bounds(np.tile(sample, times)[:, None], 0.001, hits=False) <= 0.1
    assert upper_bounds(np.tile(sample, max(1, needed // 100))[:, None], 0.001, hits=False) > 0.1


@pytest.mark.parametrize(
    ("scores", "level", "part"),
    [
        (column(0.5, 1.5), 0.95, "between 0 and 1"),
        (column(0.5, np.nan), 0.95, "between 0 and 1"),
        (np.zeros((0, 3)), 0.95, "table of queries by settings"),
        (np.zeros(3), 0.95, "table of queries by settings"),
        (column(0.5), 95, "0.95"),
    ],
)
def test_bad_input_says_the_fix(scores: np.ndarray, level: float, part: str) -> None:
    with pytest.raises(InputError, match=part):
        mean_intervals(scores, level, hits=False)


@pytest.mark.parametrize("limit", [0.08, 0.1, 0.15, 0.2, 0.3])
@pytest.mark.parametrize("queries", [40, 100, 250])
@pytest.mark.parametrize(("every", "score"), [(5, 0.25), (3, 0.1), (7, 0.5), (20, 1.0)])
def test_what_is_not_certified_needs_more_queries_than_there_are(
    every: int, score: float, queries: int, limit: float
) -> None:
    sample = np.where(np.arange(queries) % every == 0, score, 0.0)
    for alpha in (0.05, 0.05 / 86):
        certified = upper_bounds(sample[:, None], alpha, hits=True).item() <= limit
        needed = queries_needed(sample, limit, alpha, hits=True)
        assert certified == (needed <= queries), (needed, alpha)
