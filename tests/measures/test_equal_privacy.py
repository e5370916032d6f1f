"""Settings of equal empirical privacy: closed-form curves, what is not reached, and how good the intervals are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import InputError
from quipukit.measures.equal_privacy import ALWAYS, AT, NEVER, crossings, equal_privacy, isotonic
from quipukit.measures.intervals import Floats
from quipukit.measures.sides import Grid, HighestSide, Side
from tests.stat_checks import refuted


def grid_of(values: dict[tuple[str, str], tuple[float, ...]], *rivals: Floats, utility: Floats | None = None) -> Grid:
    """A grid with these risks per query of each attacker, from most to least hidden."""
    queries = len(rivals[0])
    known = np.ones(queries, bool)
    sides = [Side(np.asarray(scores, float), known) for scores in rivals]
    settings = tuple((name, parameter, value) for (name, parameter), own in values.items() for value in own)
    return Grid(
        *("strongest", "active", "nDCG@10", "R@10"),
        tuple(f"q{number:04d}" for number in range(queries)),
        settings,
        HighestSide.of(sides) if len(sides) > 1 else sides[0],
        Side(np.zeros((queries, len(settings))) if utility is None else utility, known),
    )


def shares(queries: int, *means: float) -> Floats:
    """Hits of so many queries that every column has its mean exactly."""
    return np.column_stack([(np.arange(queries) < round(queries * mean)).astype(float) for mean in means])


def test_a_curve_in_closed_form() -> None:
    """Risk log(epsilon) / log(100) and utility 0.2 + half of it: at risk r, epsilon is 100^r."""
    epsilons = (1.0, 10.0, 100.0)
    risk = shares(400, *(math.log(e, 100) for e in epsilons))
    table = equal_privacy(
        grid_of({("A", "epsilon"): epsilons}, risk, utility=0.2 + risk / 2), (0.05, 0.2, 0.5, 0.75), replicates=50
    )
    assert table["reached"].tolist() == [AT] * 4
    np.testing.assert_allclose(table["value"], 100.0 ** table["target"])
    np.testing.assert_allclose(table["utility"], 0.2 + table["target"] / 2)
    assert (table["value_low"] <= table["value"]).all() and (table["value"] <= table["value_high"]).all()
    assert (table["misfit"] == 0).all()


def test_other_parameters_are_linear_and_larger_values_may_hide_more() -> None:
    levels = equal_privacy(grid_of({("AEA", "level"): (5.0, 4.0, 3.0)}, shares(100, 0.0, 0.1, 0.4)), replicates=50)
    assert levels["value"].tolist() == pytest.approx([4.5, 4.0, 4 - 1 / 3])
    groups = equal_privacy(grid_of({("Cover", "k"): (200.0, 50.0)}, shares(100, 0.0, 0.2)), (0.1,), replicates=50)
    assert groups["value"].item() == pytest.approx(100.0)


def test_never_and_always() -> None:
    grid = grid_of(
        {("A", "epsilon"): (1.0, 5.0), ("B", "epsilon"): (1.0, 5.0), ("C", "epsilon"): (3.0,)},
        shares(200, 0.5, 0.9, 0.0, 0.02, 0.1),
    )
    table = equal_privacy(grid, (0.1,), replicates=100).set_index("mechanism")
    assert table["reached"].to_dict() == {"A": NEVER, "B": ALWAYS, "C": AT}
    assert table.loc[["A", "B"], ["value", "utility"]].isna().all(axis=None)
    assert table.loc["A", "value_high"] == -math.inf and table.loc["B", "value_low"] == math.inf
    assert (table.loc["A", "first_risk"], table.loc["B", "last_risk"]) == (0.5, pytest.approx(0.02))
    assert table.loc["A", "draws"] == 0 and table.loc["C", "value"] == 3.0
    down = grid_of({("Cover", "k"): (200.0, 50.0)}, shares(200, 0.5, 0.9))
    assert equal_privacy(down, (0.1,), replicates=50)["value_low"].item() == math.inf, "more than 200 would be needed"


def test_only_the_wanted_mechanisms_and_targets() -> None:
    grid = grid_of({("A", "epsilon"): (1.0, 5.0), ("B", "epsilon"): (1.0, 5.0)}, shares(40, 0.0, 1.0, 0.0, 0.5))
    assert equal_privacy(grid, mechanisms=["B"], replicates=10)["mechanism"].tolist() == ["B"] * 3
    for wrong in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="between 0 and 1"):
            equal_privacy(grid, (wrong,))


def test_the_strongest_is_chosen_again_in_every_draw() -> None:
    """Two attackers that find different queries, equally many: in most draws the higher of them is above the mean."""
    rng = np.random.default_rng(3)
    first, second = (rng.random((60, 1)) < 0.2 for _ in range(2))
    second = np.roll(first, 20, axis=0)  # as many hits, in other queries
    zeros, ones = np.zeros((60, 1)), np.ones((60, 1))
    one = np.hstack([zeros, first, ones]).astype(float)
    other = np.hstack([zeros, second, ones]).astype(float)
    values = {("A", "epsilon"): (1.0, 10.0, 100.0)}
    alone = equal_privacy(grid_of(values, one), (0.15,), replicates=400).iloc[0]
    both = equal_privacy(grid_of(values, one, other), (0.15,), replicates=400).iloc[0]
    assert both["value"] == alone["value"], "their means are the same"
    assert both["value_high"] < alone["value_high"], "but the higher of two is rarely low"


def coverage(factor: float = 1.0) -> float:
    """How often the interval holds the truth, epsilon = 100^0.3; ``factor`` narrows it, for a wrong twin."""
    rng, held = np.random.default_rng(11), 0
    for _ in range(150):
        risk = (rng.random((80, 1)) < np.array([0.0, 0.25, 0.5, 0.75, 1.0])).astype(float)
        grid = grid_of({("A", "epsilon"): (1.0, 100**0.25, 10.0, 100**0.75, 100.0)}, risk)
        row = equal_privacy(grid, (0.3,), replicates=200).iloc[0]
        low, middle, high = np.log([row["value_low"], row["value"], row["value_high"]])
        truth = 0.3 * math.log(100)
        held += middle + factor * (low - middle) <= truth <= middle + factor * (high - middle)
    return held / 150


def assert_covers(share: float) -> None:
    """False alarms of an interval that holds in 95 % of cases: 2e-4."""
    assert share >= 0.88


@pytest.mark.statistical
def test_intervals_hold_the_truth() -> None:
    assert_covers(coverage())
    assert refuted(assert_covers, coverage(0.4))  # an interval of less than half the width


@given(st.lists(st.integers(0, 10), min_size=1, max_size=8))
def test_the_fit_is_the_nearest_rising_curve(heights: list[int]) -> None:
    own = np.array(heights, float)
    fit = isotonic(own)
    assert (np.diff(fit) >= -1e-12).all() and fit.sum() == pytest.approx(own.sum())
    # The conditions of the least squares: residuals sum to 0 in every block, and are never below 0 before its end.
    residuals = np.cumsum(own - fit)
    assert (residuals >= -1e-9).all()
    for place in np.flatnonzero(np.diff(fit) > 1e-9):
        assert residuals[place] == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(isotonic(np.stack([own, own]))[1], fit)


def test_crossings_at_the_ends_and_on_level_ground() -> None:
    rising = np.array([0.1, 0.3, 0.3, 0.5])
    assert [float(crossings(rising, target)) for target in (0.1, 0.3, 0.5)] == [0.0, 1.0, 3.0]
    assert crossings(np.array([[0.2], [0.4]]), 0.4).tolist() == [math.inf, 0.0]
