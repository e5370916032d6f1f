"""Bounds that hold, and events that are chosen without a look at the draws that test them."""

import numpy as np
import pytest
from scipy import stats

from quipukit.auditing.events import EVENTS, choose_events, largest_bound, loss_bound, lower, upper
from quipukit.auditing.outcomes import Outcomes


@pytest.mark.parametrize(("hits", "total"), [(0, 20), (3, 20), (20, 20), (700, 1000)])
def test_the_bounds_are_those_of_clopper_and_pearson(hits: int, total: int) -> None:
    interval = stats.binomtest(hits, total).proportion_ci(0.98, "exact")
    assert lower(hits, total, 0.01) == pytest.approx(interval.low)
    assert upper(hits, total, 0.01) == pytest.approx(interval.high)


def test_the_largest_bound_is_all_against_none() -> None:
    assert largest_bound(1000, 1e-6) == pytest.approx(float(loss_bound(1000, 0, 1000, 1e-6)))
    assert largest_bound(500_000, 1e-6) < np.log(1e6) < 13.82
    grid = np.arange(0, 101)
    assert loss_bound(grid, 0, 100, 1e-3).max() == pytest.approx(largest_bound(100, 1e-3))


def outcomes_of(**drawn: list[tuple[str, ...]]) -> Outcomes:
    outcomes = Outcomes()
    for text, several in drawn.items():
        outcomes.add(text, several)
    return outcomes


def names_of(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> str:
    outcomes = outcomes_of(x=one, y=other)
    (counts, _), (against, _) = outcomes.halves("x"), outcomes.halves("y")
    events = choose_events(outcomes, counts, against, "x", "y", 1e-3)
    assert 0 < len(events) <= EVENTS
    return " / ".join(event.name for event in events)


def test_events_are_outputs_sets_and_features() -> None:
    spread = [(f"w{number}",) for number in range(100)]
    assert "the output is 'a'" in names_of([("a",)] * 100, [("b",)] * 100)
    assert "upper case: yes" in names_of([(word.upper(),) for (word,) in spread], spread)
    assert "emptiness: yes" in names_of([()] * 25 + [("",)] * 25 + [()] * 25 + [(" ",)] * 25, spread)
    assert "number of letters: 9" in names_of([(f"{word:>9}".replace(" ", "x"),) for (word,) in spread], spread)
    assert "holds the input as it was typed" in names_of([("x",)] * 100, spread)
    assert "the input's word 'x'" in names_of([(f"x {word}",) for (word,) in spread], spread)
    assert "the input is text 1" in names_of([("x", *word) for word in spread], [(*word, "x") for word in spread])


def test_halves_are_the_draws_in_their_order() -> None:
    outcomes = outcomes_of(x=[("a",), ("a",), ("b",), ("c",)])
    first, second = outcomes.halves("x")
    assert first.tolist() == [2, 0, 0] and second.tolist() == [0, 1, 1]


@pytest.mark.statistical
def test_choosing_and_testing_on_the_same_draws_would_raise_false_alarms() -> None:
    rng = np.random.default_rng(1)
    alarms, tempted = 0, 0
    for _ in range(60):
        draws = [[(f"w{number}",) for number in rng.integers(0, 100, 600)] for _ in range(2)]
        outcomes = outcomes_of(x=draws[0], y=draws[1])
        (counts, tested), (against, tested_against) = outcomes.halves("x"), outcomes.halves("y")
        for event in choose_events(outcomes, counts, against, "x", "y", 0.02)[:2]:
            alarms += float(loss_bound(event.hits(tested), event.hits(tested_against), 300, 0.02)) > 0
            tempted += float(loss_bound(event.hits(counts), event.hits(against), 300, 0.02)) > 0
    # 120 tests at 4 % at most: more than 20 with probability below 1e-6; here the same draws would alarm nearly always.
    assert alarms <= 20 < 60 < tempted
