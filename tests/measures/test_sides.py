"""Risk and utility side by side: which queries count where, and how curves are formed."""

import numpy as np
import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.measures.points import points
from quipukit.measures.sides import Side, grids, pair_sides, score_matrix
from tests.measures.simulated import scores, simulated


def test_risks_are_over_all_queries_sent_utilities_over_those_judged_and_absence_counts_0() -> None:
    """A query without relevant documents was sent all the same: its risk counts."""
    risks = scores("risk", "P@1", {("A", 5): [1, 1, 0], ("A", 10): [1, 1, 1]})
    utilities = scores("utility", "nDCG@10", {("A", 5): [0.4, 0.6], ("A", 10): [0.4]})
    found = points(risks, utilities)
    assert found["risk"].tolist() == pytest.approx([2 / 3, 1]) and found["utility"].tolist() == pytest.approx(
        [0.5, 0.2]
    )
    grid = grids(risks, utilities)["QuIA", "lazy", "nDCG@10"]
    assert grid.risk.known.tolist() == [True] * 3 and grid.utility.known.tolist() == [True, True, False]
    assert grid.utility.measured.tolist() == [[0.4, 0.4], [0.6, 0]] and grid.risk_measure == "P@1"


def test_a_matrix_has_a_row_per_query_and_knows_who_was_measured() -> None:
    table = scores("risk", "P@1", {("A", 1.0): [0.2, 0.4], ("A", 2.0): [0.6, 0.8]})
    side, columns = score_matrix(table, ["1", "7", "0"])
    assert side.scores.tolist() == [[0.4, 0.8], [0, 0], [0.2, 0.6]] and side.known.tolist() == [True, False, True]
    assert columns == [("A", "epsilon", 1.0, "QuIA", "P@1"), ("A", "epsilon", 2.0, "QuIA", "P@1")]
    assert side.means == pytest.approx([0.3, 0.7])
    assert side.columns([1]).measured.tolist() == [[0.8], [0.6]]


def test_leaving_a_query_out_leaves_the_mean_of_the_others() -> None:
    side = Side(np.array([[0.0], [0.3], [0.9], [0.0]]), np.array([True, True, True, False]))
    assert side.without_each()[:, 0] == pytest.approx([0.6, 0.45, 0.15, 0.4])
    alone = Side(np.array([[0.7]]), np.array([True]))
    assert alone.without_each().tolist() == [[0.7]]


def test_curves_are_those_of_every_mechanism_attacker_persona_and_measure() -> None:
    risks, utilities = simulated("AB", 4, 1)
    risks = pd.concat([risks, risks.assign(attacker="Bayes"), risks.assign(measure="RR")])
    with pytest.raises(InputError, match="has no score RR of Bayes"):
        pair_sides(pd.concat([risks, risks.iloc[:1].assign(attacker="Bayes", measure="RR")]), utilities).curves()
    names = [curve.name for curve in pair_sides(risks, utilities).curves()]
    risk_of = [("QuIA", "lazy"), ("Bayes", "lazy"), ("QuIA", "motivated"), ("strongest", "lazy")]
    assert names == [(mechanism, *who, "nDCG@10") for mechanism in "AB" for who in risk_of]


def test_settings_need_both_sides_and_one_parameter() -> None:
    risks, utilities = simulated("AB", 4, 1)
    with pytest.raises(InputError, match="A@5 has a risk but no utility"):
        pair_sides(risks, utilities[utilities["value"] != 5])
    mixed = [f.assign(parameter=f["value"].map({1.0: "level"}).fillna("epsilon")) for f in (risks, utilities)]
    with pytest.raises(InputError, match="one parameter"):
        points(*mixed)
