import numpy as np
import pandas as pd
import pytest

from quipukit.measures.bootstrap import bootstrap_scores
from quipukit.measures.points import points
from quipukit.measures.quipu import quipu_table
from quipukit.measures.strongest import (
    STRONGEST,
    gaps,
    risk_intervals,
    strongest_bounds,
    strongest_intervals,
    strongest_names,
    strongest_risks,
)
from tests.measures.simulated import scores, simulated


def both():
    """Two attackers: the first is better at value 1, the second at 2."""
    first = scores("risk", "R@10", {("A", 1.0): [1, 1, 0, 0], ("A", 2.0): [0, 0, 0, 0]})
    second = scores("risk", "R@10", {("A", 1.0): [0, 0, 0, 1], ("A", 2.0): [1, 1, 1, 0]}, "Words")
    return pd.concat([first, second], ignore_index=True)


def test_the_strongest_is_chosen_setting_by_setting():
    found = strongest_names(both())
    assert found[["value", "attacker", "risk"]].values.tolist() == [[1.0, "QuIA", 0.5], [2.0, "Words", 0.75]]
    risks = strongest_risks(both())
    assert set(risks["attacker"]) == {STRONGEST}
    assert risks.groupby("value")["score"].mean().tolist() == [0.5, 0.75]


def test_intervals_of_the_strongest_are_those_for_all_attackers_of_a_setting():
    alone = scores("risk", "R@10", {("B", 1.0): [1, 0, 0, 0]})
    table = risk_intervals(pd.concat([both(), alone], ignore_index=True)).set_index(["mechanism", "value", "attacker"])
    best = table.xs(STRONGEST, level="attacker")
    assert best["risk"].to_dict() == {("A", 1.0): 0.5, ("A", 2.0): 0.75}, "one attacker has no rival"
    sides = [np.array([[1, 0], [1, 0], [0, 0], [0, 0]]), np.array([[0, 1], [0, 1], [0, 1], [1, 0]])]
    low, high = strongest_intervals(sides, hits=True)
    assert best["low"].tolist() == pytest.approx(low) and best["high"].tolist() == pytest.approx(high)
    assert table.loc[("B", 1.0, "QuIA"), "risk"] == 0.25


def test_points_and_scores_have_the_strongest_as_a_further_attacker():
    utilities = scores("utility", "nDCG@10", {("A", 1.0): [0.1, 0.2, 0.3, 0.2], ("A", 2.0): [0.5, 0.4, 0.6, 0.9]})
    table = points(both(), utilities)
    assert table[table["attacker"] == STRONGEST]["risk"].tolist() == [0.5, 0.75]
    scored = bootstrap_scores(both(), utilities, replicates=10, attackers=[STRONGEST])
    expected = quipu_table(table[table["attacker"] == STRONGEST])["quipu"]
    assert scored["quipu"].tolist() == pytest.approx(expected.tolist())


def test_rows_of_the_strongest_are_not_taken_for_an_attacker():
    utilities = scores("utility", "nDCG@10", {("A", 1.0): [0.1] * 4, ("A", 2.0): [0.5] * 4})
    again = pd.concat([both(), strongest_risks(both())], ignore_index=True)
    pd.testing.assert_frame_equal(points(again, utilities), points(both(), utilities))


def test_one_attacker_has_no_rival():
    risks, utilities = simulated("A", 6, 1)
    assert STRONGEST not in set(points(risks, utilities)["attacker"])
    assert gaps(risks, risks["measure"].iloc[0]) == []


def test_gaps_are_where_the_first_attacker_sees_less():
    (gap,) = gaps(both(), "R@10")
    assert (gap.value, gap.attacker, gap.risk, gap.first, gap.first_risk) == (2.0, "Words", 0.75, "QuIA", 0.0)


def test_intervals_hold_for_the_highest_of_many_that_know_nothing():
    # Twenty attackers with a true risk of .2 each: the highest mean is far above it, and an interval that forgets the
    # choice misses .2 most of the time. At 95 % ours may miss it in 5 of 100; more than 14 of 100 has p < .001.
    rng = np.random.default_rng(4)
    ours = naive = 0
    for _ in range(100):
        sides = [(rng.random((60, 1)) < 0.2).astype(float) for _ in range(20)]
        low, high = strongest_intervals(sides, hits=True)
        ours += not low[0] <= 0.2 <= high[0]
        best = max(sides, key=lambda scores: scores.mean())
        alone, _ = strongest_intervals([best], hits=True)
        naive += alone[0] > 0.2
    assert ours <= 14
    assert naive >= 15  # the wrong twin


def test_bounds_are_at_least_those_of_each():
    rng = np.random.default_rng(1)
    sides = [(rng.random((40, 3)) < p).astype(float) for p in (0.1, 0.3)]
    joint = strongest_bounds(sides, 0.05, hits=True)
    assert (joint >= np.max([strongest_bounds([one], 0.05, hits=True) for one in sides], axis=0)).all()
