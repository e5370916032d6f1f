"""Settings are placed where something moves, whatever the scale."""

import itertools
import math

import pytest

from quipukit.experiment.adaptive import MOST, Placement, Point

GRID = (1.0, 5.0, 10.0, 12.5, 15.0, 17.5, 20.0, 25.0, 30.0, 50.0)


def rising(middle, steepness=3.0):
    """Return a curve that rises from 0 to 1 around a value, on the logarithmic scale."""
    return lambda value: 1 / (1 + (middle / value) ** steepness)


def place(risk, utility, first=None, start=GRID):
    placement = Placement(start)
    measured = []
    while wanted := placement.wanted():
        assert not set(wanted) & set(placement.points), "nothing is measured twice"
        for value in wanted:
            measured.append(value)
            risks = (first(value), risk(value)) if first else (risk(value),)
            placement.points[value] = Point(risks, None if utility is None else utility(value))
    return placement, measured


@pytest.mark.parametrize("middle", [0.01, 0.3, 2.0, 10.0, 60.0, 900.0])
def test_a_rise_is_covered_wherever_it_is(middle):
    risk, utility = rising(middle), rising(2 * middle)
    placement, measured = place(risk, utility)
    values = placement.placed()
    assert len(values) <= MOST and len(measured) <= 16
    assert max(risk(values[0]), utility(values[0])) <= 0.2 and min(risk(values[-1]), utility(values[-1])) >= 0.8
    for one, following in itertools.pairwise(values):
        assert abs(risk(one) - risk(following)) <= 0.35 and abs(utility(one) - utility(following)) <= 0.35


def test_a_fixed_grid_misses_such_a_rise():
    risk = rising(0.3)
    assert min(map(risk, GRID)) > 0.9


def test_what_moves_for_one_attacker_alone_is_covered_too():
    strong, weak, utility = rising(2), rising(20), rising(2)
    values = place(strong, utility, first=weak)[0].placed()
    assert sum(0.1 < weak(value) < 0.9 for value in values) >= 2
    assert sum(0.1 < strong(value) < 0.9 for value in values) >= 2


def test_settings_where_nothing_moves_are_dropped():
    risk = rising(0.05, 8)
    values = place(risk, risk)[0].placed()
    assert sum(risk(value) > 0.99 for value in values) <= 2 and sum(risk(value) < 0.01 for value in values) <= 2


def test_a_mechanism_that_never_gives_all_away_is_not_followed_forever():
    values = place(lambda value: 0.3 * rising(10)(value), None)[0].placed()
    assert values[-1] <= 50 * 4**2


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0])
def test_a_curve_that_does_not_move_at_all_ends(level):
    placement, measured = place(lambda value: level, lambda value: level)
    assert len(measured) <= 16 and 2 <= len(placement.placed()) <= MOST


def test_the_same_measurements_place_the_same_settings():
    first, second = (place(rising(3), rising(9))[0].placed() for _ in range(2))
    assert first == second


def test_values_are_short_numbers_in_rising_order():
    values = place(rising(3, 12), rising(9, 12))[0].placed()
    assert values == sorted(set(values)) and all(float(f"{value:.4g}") == value for value in values)
    assert all(math.isfinite(value) and value > 0 for value in values)
