"""Points, scores and their differences: numbers per query, invariances, coverage, comparisons."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quipukit.errors import InputError
from quipukit.measures.bootstrap import bootstrap_scores, compare, holm, per_query, reach
from quipukit.measures.points import points
from quipukit.measures.quipu import quipu_score, quipu_table
from quipukit.measures.sides import Side, grids
from tests.measures.simulated import Scores, scores, simulated
from tests.stat_checks import refuted


def test_every_attacker_meets_every_measure_of_utility() -> None:
    table = {("A", 1.0): [0.1, 0.2], ("A", 2.0): [0.5, 0.4]}
    risks = pd.concat([scores("risk", "P@1", table), scores("risk", "RR", table), scores("risk", "RR", table, "Bayes")])
    utilities = pd.concat([scores("utility", "nDCG@10", table), scores("utility", "SetR", table)])
    found = bootstrap_scores(risks, utilities, replicates=10)
    assert list(zip(found["attacker"], found["persona"], found["measure"], strict=True)) == [
        (*who, measure)
        for who in (("QuIA", "lazy"), ("QuIA", "motivated"), ("Bayes", "motivated"), ("strongest", "motivated"))
        for measure in ("nDCG@10", "SetR")
    ]


def test_the_score_is_that_of_the_points() -> None:
    risks, utilities = simulated("AB", 30, 1)
    by_points = quipu_table(points(risks, utilities)).set_index("mechanism")["quipu"]
    by_bootstrap = bootstrap_scores(risks, utilities, replicates=10).set_index("mechanism")["quipu"]
    assert by_bootstrap.to_dict() == pytest.approx(by_points.to_dict(), abs=1e-12)
    for order in ("risk", "diagonal"):
        expected = quipu_table(points(risks, utilities), order).set_index("mechanism")["quipu"]
        found = bootstrap_scores(risks, utilities, replicates=10, order=order).set_index("mechanism")["quipu"]
        assert found.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)


def test_a_score_is_never_farther_from_0_than_its_curve_reaches() -> None:
    rng, everyone = np.random.default_rng(5), np.ones(1, bool)
    tightest = 0.0
    for size in rng.integers(2, 8, 500):
        risk, utility = (Side(rng.integers(0, 2, (1, size)).astype(float), everyone) for _ in range(2))
        score = abs(quipu_score(np.column_stack([risk.means, utility.means])).value)
        assert score <= reach(risk, utility) + 1e-12
        tightest = max(tightest, score / reach(risk, utility))
    assert tightest == pytest.approx(1), "some curve gets there"
    slightly = Side(np.array([[0.0, 0.4, 0.5]]), everyone), Side(np.array([[0.0, 0.3, 0.18]]), everyone)
    assert reach(*slightly) == pytest.approx(1.04), "falls by 0.02"


def test_curves_run_from_most_to_least_hidden() -> None:
    """The same points under rising and under falling values of the parameter, which says so: one score."""
    curve = [([0.0, 0.2], [0.0, 0.1]), ([0.4, 0.6], [0.1, 0.1]), ([0.9, 1.0], [0.4, 0.6])]
    sides = []
    for side in (0, 1):
        rising = {("Up", float(value)): pair[side] for value, pair in zip((1, 2, 3), curve, strict=True)}
        falling = {("Down", float(value)): pair[side] for value, pair in zip((3, 2, 1), curve, strict=True)}
        sides.append(scores(("risk", "utility")[side], ("P@1", "nDCG@10")[side], rising | falling))
    told = {"Down": "larger"}
    found = bootstrap_scores(*sides, replicates=50, hides_more=told).set_index("mechanism")
    assert found.loc["Up", "quipu"] == pytest.approx(found.loc["Down", "quipu"]) and found.loc["Up", "quipu"] < 0
    assert found.loc["Up", ["low", "high"]].tolist() == pytest.approx(found.loc["Down", ["low", "high"]].tolist())
    unsaid = bootstrap_scores(*sides, replicates=50).set_index("mechanism")
    assert unsaid.loc["Down", "quipu"] == pytest.approx(-found.loc["Down", "quipu"])
    listed = points(*sides, hides_more=told)
    assert listed.loc[listed["mechanism"] == "Down", "value"].tolist() == [3, 2, 1]
    assert set(listed.loc[listed["mechanism"] == "Down", "hides_more"]) == {"larger"}
    assert compare(*sides, replicates=50, hides_more=told)["difference"].tolist() == pytest.approx([0.0])
    (grid,) = grids(*sides, told).values()
    assert [value for name, _, value in grid.settings if name == "Down"] == [3, 2, 1]


def test_hypervolumes_have_intervals_and_are_compared_too() -> None:
    risk = {("A", 1.0): [0.0, 0.0, 0.0], ("B", 1.0): [0.5, 0.5, 0.5], ("Identity", 0.0): [1.0, 1.0, 1.0]}
    utility = {("A", 1.0): [0.2, 0.4, 0.3], ("B", 1.0): [0.2, 0.4, 0.3], ("Identity", 0.0): [0.4, 0.8, 0.6]}
    sides = scores("risk", "P@1", risk), scores("utility", "nDCG@10", utility)
    found = bootstrap_scores(*sides, replicates=50).set_index("mechanism")
    # Half of the original's utility for every query: whichever are drawn, the volume is the same.
    assert found["hypervolume"].to_dict() == pytest.approx({"A": 0.5, "B": 0.25, "Identity": 0.0})
    # Queries that all tell the same cannot tell how far another one would move it: no interval, not one of no width.
    assert found[["hypervolume_low", "hypervolume_high", "low", "high"]].isna().all(axis=None)
    pair = compare(*sides, mechanisms=["A", "B"], replicates=50, score="hypervolume")
    assert pair["difference"].tolist() == pytest.approx([0.25])


@pytest.mark.statistical
def test_intervals_of_hypervolumes_cover_the_truth() -> None:
    """Of 150 experiments of 60 queries, 85 % or more are covered (nominal 95 %), and of the wrong truth hardly any.

    False alarms: below 1e-6 (binomial, 150 at 0.95).
    """
    rng = np.random.default_rng(9)
    queries, experiments, truth = 60, 150, {1.0: (0.05, 0.3), 5.0: (0.3, 0.5), 10.0: (0.8, 0.6)}
    risk: dict[tuple[str, float], list[float]] = {("Identity", 0.0): [1.0] * queries}
    utility: dict[tuple[str, float], list[float]] = {("Identity", 0.0): [0.8] * queries}
    for number in range(experiments):
        for value, (r, u) in truth.items():
            risk[f"E{number}", value] = (rng.random(queries) < r).astype(float).tolist()
            utility[f"E{number}", value] = rng.beta(4 * u, 4 * (1 - u), queries).tolist()
    found = bootstrap_scores(scores("risk", "P@1", risk), scores("utility", "nDCG@10", utility), replicates=400)
    found = found[found["mechanism"] != "Identity"]
    exact = quipu_score(list(truth.values()), u0=0.8).hypervolume

    def covered(number: float) -> float:
        return float(((found["hypervolume_low"] <= number) & (number <= found["hypervolume_high"])).mean())

    assert covered(exact) >= 0.85
    assert covered(exact + 0.15) < 0.3


# --- numbers per query ---


def test_numbers_per_query_average_to_the_score_and_spread_as_it_does() -> None:
    """Their spread is that of 2,000 resampled scores, to some per cent; that of the wrong half is not."""
    rng = np.random.default_rng(1)
    risk, utility = rng.random((60, 4)) < (0.1, 0.3, 0.5, 0.9), rng.beta(2, (8, 4, 2, 1), (60, 4))
    everyone = np.ones(60, bool)
    values = per_query(Side(risk.astype(float), everyone), Side(utility, everyone))
    score = quipu_score(np.column_stack([risk.mean(axis=0), utility.mean(axis=0)])).value
    assert values.mean() == pytest.approx(score)
    weights = rng.multinomial(60, np.full(60, 1 / 60), size=2_000) / 60
    drawn = [quipu_score(np.column_stack([w @ risk, w @ utility])).value for w in weights]
    assert values.std() / math.sqrt(60) == pytest.approx(np.std(drawn), rel=0.08)
    assert values[:30].std() / math.sqrt(30) != pytest.approx(np.std(drawn), rel=0.08)


def test_queries_that_were_not_judged_move_the_risk_alone() -> None:
    rng = np.random.default_rng(2)
    risk, utility, judged = rng.random((40, 3)), rng.random((40, 3)), np.arange(40) < 25
    known = Side(np.where(judged[:, None], utility, 0.0), judged)
    values = per_query(Side(risk, np.ones(40, bool)), known)
    points_of = np.column_stack([risk.mean(axis=0), utility[:25].mean(axis=0)])
    assert values.mean() == pytest.approx(quipu_score(points_of).value)
    for constant in (known, Side(np.zeros((40, 3)), np.ones(40, bool))):
        assert per_query(Side(np.zeros((40, 3)), np.ones(40, bool)), constant).shape == (40,)
    alone = Side(np.eye(1, 40).T * np.ones(3), np.arange(40) == 0)  # one judged query: nothing is left without it
    assert np.isfinite(per_query(Side(risk, np.ones(40, bool)), alone)).all()


@pytest.mark.statistical
def test_intervals_cover_the_true_score() -> None:
    """Of 150 experiments of 60 queries, 90 % or more are covered (nominal 95 %). False alarms: below 1e-6."""
    rng = np.random.default_rng(8)
    queries, experiments, truth = 60, 150, {1.0: (0.05, 0.3), 5.0: (0.3, 0.6), 10.0: (0.8, 0.7)}
    risk, utility = {}, {}
    for number in range(experiments):
        for value, (r, u) in truth.items():
            risk[f"E{number}", value] = (rng.random(queries) < r).astype(float).tolist()
            utility[f"E{number}", value] = rng.beta(4 * u, 4 * (1 - u), queries).tolist()
    sides = scores("risk", "P@1", risk), scores("utility", "nDCG@10", utility)
    exact = quipu_score(list(truth.values())).value

    def check(level: float) -> None:
        found = bootstrap_scores(*sides, level=level, replicates=500)
        covered = int(((found["low"] <= exact) & (exact <= found["high"])).sum())
        assert stats.binom.cdf(covered, experiments, 0.9) >= 1e-6, covered

    check(0.95)
    assert refuted(check, 0.6)


def test_the_spread_of_a_mean_is_that_of_the_sample() -> None:
    """From (0, 1) to (r, 1) the score is r - r^2 / 2: for a small r it spreads as the mean r does."""
    risk = np.random.default_rng(3).random(50)
    table = {("A", 1.0): [0.0] * 50, ("A", 2.0): (risk * 0.01).tolist()}
    ones = {key: [1.0] * 50 for key in table}
    found = bootstrap_scores(scores("risk", "P@1", table), scores("utility", "RR", ones), replicates=20_000).iloc[0]
    assert found["error"] == pytest.approx(0.01 * risk.std() / math.sqrt(50), rel=0.05)


def test_draws_belong_to_queries_not_to_rows_or_mechanisms() -> None:
    risks, utilities = simulated("ABC", 25, 2)
    expected = bootstrap_scores(risks, utilities, seed=7).set_index("mechanism")
    shuffled = [frame.sample(frac=1, random_state=1) for frame in (risks, utilities)]
    pd.testing.assert_frame_equal(
        bootstrap_scores(*shuffled, seed=7).set_index("mechanism").loc[expected.index], expected
    )
    alone = [frame[frame["mechanism"] == "B"] for frame in (risks, utilities)]
    pd.testing.assert_frame_equal(bootstrap_scores(*alone, seed=7).set_index("mechanism"), expected.loc[["B"]])


def test_a_seed_or_a_generator_decides() -> None:
    risks, utilities = simulated("A", 25, 2)
    first = bootstrap_scores(risks, utilities, seed=7)
    pd.testing.assert_frame_equal(first, bootstrap_scores(risks, utilities, seed=np.random.default_rng(7)))
    other = bootstrap_scores(risks, utilities, seed=8)
    assert (first[["low", "high"]] != other[["low", "high"]]).any(axis=None)
    wide = bootstrap_scores(risks, utilities, seed=7, level=0.99)
    assert (
        wide["low"].item()
        <= first["low"].item()
        <= first["quipu"].item()
        <= first["high"].item()
        <= wide["high"].item()
    )


def test_one_query_says_nothing() -> None:
    found = bootstrap_scores(*simulated("A", 1, 2)).iloc[0]
    assert np.isnan(found[["low", "high", "hypervolume_low"]].to_numpy(float)).all() and found["queries"] == 1


@pytest.mark.parametrize(("hits", "told"), [(0, False), (1, False), (2, True)])
def test_no_interval_where_the_attacker_found_next_to_nothing(hits: int, told: bool) -> None:
    """Draws of queries know nothing of hits that none had: such intervals of rare hits missed in 96 % of samples."""
    found = [1.0] * hits + [0.0] * (30 - hits)
    utility = np.linspace(0.1, 0.5, 30)
    sides = (
        scores("risk", "R@10", {("A", 1.0): [0.0] * 30, ("A", 2.0): found}),
        scores("utility", "nDCG@10", {("A", 1.0): list(utility), ("A", 2.0): list(utility + 0.4)}),
    )
    row = bootstrap_scores(*sides, replicates=200).iloc[0]
    assert row[["low", "high", "hypervolume_low", "hypervolume_high"]].notna().tolist() == [told] * 4


def test_the_interval_of_a_curve_that_never_turns_stays_between_minus_1_and_1() -> None:
    utility = {("A", 1.0): [0.0, 0.0, 0.1], ("A", 2.0): [1.0, 1.0, 0.0]}
    sides = (
        scores("risk", "P@1", {("A", 1.0): [0.0, 0.0, 0.0], ("A", 2.0): [0.0, 1.0, 1.0]}),
        scores("utility", "nDCG@10", utility),
    )
    row = bootstrap_scores(*sides, replicates=500).iloc[0]
    assert row["low"] >= -1 and row["high"] == 1, "three queries: Student's interval is far wider than the range"


# --- comparisons ---


def test_equal_mechanisms_differ_by_nothing() -> None:
    risks, utilities = simulated("A", 40, 3)
    both = [pd.concat([frame, frame.assign(mechanism="B")]) for frame in (risks, utilities)]
    row = compare(*both).iloc[0]
    assert (row["first"], row["second"]) == ("A", "B")
    assert (row["difference"], row["p"], row["p_holm"]) == (pytest.approx(0, abs=1e-12), 1, 1)


def test_a_clear_difference_has_the_smallest_p_value() -> None:
    risks, utilities = simulated("A", 60, 3)
    worse = utilities.assign(mechanism="B", score=utilities["score"] * 0.2)
    row = compare(pd.concat([risks, risks.assign(mechanism="B")]), pd.concat([utilities, worse]), replicates=999).iloc[
        0
    ]
    assert row["difference"] > 0 and row["low"] > 0 and row["p"] == pytest.approx(2 / 1000)


def test_pairing_keeps_out_what_mechanisms_share() -> None:
    risks, utilities = simulated("A", 60, 4)
    near = utilities.assign(mechanism="B", score=utilities["score"] * 0.95)
    both = pd.concat([risks, risks.assign(mechanism="B")]), pd.concat([utilities, near])
    row = compare(*both).iloc[0]
    alone = bootstrap_scores(*both)
    assert row["high"] - row["low"] < 0.5 * (alone["high"] - alone["low"]).min()
    assert row["p"] < 0.05


def test_swapping_two_mechanisms_changes_the_sign_alone() -> None:
    sides = simulated("AB", 30, 5)
    forth, back = (compare(*sides, mechanisms=names).iloc[0] for names in (["A", "B"], ["B", "A"]))
    assert back["difference"] == -forth["difference"] and back["p"] == forth["p"]
    assert (back["low"], back["high"]) == pytest.approx((-forth["high"], -forth["low"]))


def test_all_pairs_are_compared_for_every_attacker() -> None:
    risks, utilities = simulated("ABCD", 20, 6)
    risks = pd.concat([risks, risks.assign(measure="RR")])
    found = compare(risks, utilities, replicates=50)
    assert len(found) == 6 * 2
    for _, family in found.groupby(["attacker", "persona"]):
        assert family["p_holm"].tolist() == holm(family["p"].tolist())


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.2]) == [0.2]


# --- bad input ---


def sides() -> tuple[Scores, Scores]:
    return simulated("AB", 5, 1)


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda r, u: bootstrap_scores(u, r), "side 'utility'"),
        (lambda r, u: bootstrap_scores(r.iloc[:0], u), "no score of risk"),
        (lambda r, u: bootstrap_scores(r, u.assign(qid="x" + u["qid"])), "same queries"),
        (lambda r, u: bootstrap_scores(r, u[u["value"] != 5]), "A@5 has a risk but no utility"),
        (lambda r, u: bootstrap_scores(r[r["mechanism"] != "B"], u), "B@1 has a utility but no risk"),
        (
            lambda r, u: bootstrap_scores(pd.concat([r, r[r["value"] == 1].assign(measure="RR")]), u),
            "A@5 has no score RR of QuIA",
        ),
        (lambda r, u: bootstrap_scores(r, u, replicates=0), "replicates"),
        (lambda r, u: bootstrap_scores(r, u, level=95), "0.95"),
        (lambda r, u: compare(r, u, mechanisms=["A", "C"]), "no mechanism 'C'"),
        (lambda r, u: compare(r, u, mechanisms=["A", "A"]), "two mechanisms"),
        (
            lambda r, u: points(
                *(f.assign(parameter=f["value"].map({1.0: "level"}).fillna("epsilon")) for f in (r, u))
            ),
            "one parameter",
        ),
    ],
)
def test_bad_input_says_the_fix(call, part: str) -> None:
    with pytest.raises(InputError, match=part):
        call(*sides())
