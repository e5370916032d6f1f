"""The bounds are reached by the attacker who ranks a group by the prior, and by none exceeded."""

import numpy as np
import pytest

from quipukit.covers.bounds import prior_bound
from quipukit.errors import InputError


def test_a_uniform_prior_gives_one_over_k() -> None:
    bound = prior_bound(np.repeat(np.arange(20), 50), np.ones(1000))
    assert bound.lazy == bound.worst_lazy == pytest.approx(1 / 50)
    assert bound.active == bound.worst_active == pytest.approx(10 / 50)


def test_it_is_what_the_best_guesses_reach_and_others_do_not() -> None:
    """Over 20,000 queries drawn from the prior; five standard deviations."""
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 30, 1000)
    prior = rng.gamma(0.3, size=1000)
    prior /= prior.sum()
    bound = prior_bound(groups, prior, 10)
    drawn = rng.choice(1000, 20_000, p=prior)
    for guessed, reached in ((prior, True), (rng.random(1000), False)):
        rank = np.array([(guessed[groups == groups[q]] > guessed[q]).sum() for q in range(1000)])[drawn]
        for most, limit in ((1, bound.lazy), (10, bound.active)):
            share, spread = (rank < most).mean(), 5 * (limit * (1 - limit) / len(drawn)) ** 0.5
            assert share <= limit + spread
            assert (share >= limit - spread) == reached


def test_a_steep_prior_leaves_little() -> None:
    flat, steep = np.ones(100), np.r_[1e6, np.ones(99)]
    groups = np.zeros(100, int)
    assert prior_bound(groups, flat).lazy == pytest.approx(0.01) and prior_bound(groups, steep).lazy > 0.99


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan]])
def test_what_is_no_prior_is_refused(weights: list[float]) -> None:
    with pytest.raises(InputError):
        prior_bound([0, 1], weights)
