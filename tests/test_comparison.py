"""Two results side by side: by hand, equal ones, shifted ones, and what pairing is worth."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quipukit.comparison import Comparison, compare_results
from quipukit.errors import InputError
from quipukit.measures.bootstrap import holm
from quipukit.measures.quipu import quipu_score
from quipukit.results import Result
from tests.example_results import make_result
from tests.stat_checks import refuted
from tests.test_recommend import tiny_result

FIRST = {
    ("A", 1): ([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.2]),
    ("A", 5): ([1, 0, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("A", 9): ([1, 1, 0, 1], [0.6, 0.7, 0.8, 0.7]),
    ("Identity", 0): ([1, 1, 1, 1], [0.7, 0.8, 0.9, 0.8]),
}
SECOND = {
    ("A", 1): ([0, 0, 0, 0], [0.0, 0.1, 0.2, 0.1]),
    ("A", 5): ([1, 1, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("A", 9): ([1, 1, 1, 1], [0.6, 0.7, 0.8, 0.7]),
    ("Identity", 0): ([1, 1, 1, 1], [0.7, 0.8, 0.9, 0.8]),
}


def with_manifest(result: Result, **parts: Any) -> Result:
    manifest = copy.deepcopy(dict(result.manifest))
    for name, part in parts.items():
        manifest[name] = {**manifest[name], **part} if isinstance(part, dict) else part
    return replace(result, manifest=manifest)


def other_texts(result: Result) -> Result:
    return replace(result, queries=result.queries.assign(query=result.queries["query"] + " differently"))


def utilities(found: Comparison) -> pd.DataFrame:
    return found.settings[found.settings["side"] == "utility"].reset_index(drop=True)


# --- the numbers ---


def test_a_curve_that_spans_little_of_the_diagonal_is_not_ranked() -> None:
    flat = {("A", value): ([0.0] * 40, [0.5 + value / 100] * 40) for value in (1, 5, 9)}
    wide = {("B", value): ([value / 10] * 40, [value / 20] * 40) for value in (1, 5, 9)}
    other = {key: (risk, [score / 2 for score in found]) for key, (risk, found) in (flat | wide).items()}
    found = compare_results(tiny_result(flat | wide), tiny_result(other), replicates=500)
    assert found.scores.set_index("mechanism")["rankable"].to_dict() == {"A": False, "B": True}
    (note,) = (note for note in found.notes if note.startswith("Not ranked"))
    assert "A." in note and "less than 10 % of the diagonal" in note


def test_a_curve_that_runs_backwards_is_not_ranked() -> None:
    """Larger values hide more, and nobody said so: all points lie below the diagonal, and the score is positive."""
    wrong = {("Veil", value): ([0.95 - value / 20] * 40, [0.5 - value / 24] * 40) for value in (1, 5, 10)}
    other = {key: (risk, [score / 2 for score in found]) for key, (risk, found) in wrong.items()}
    found = compare_results(tiny_result(wrong), tiny_result(other), replicates=500)
    assert (found.scores["first"] > 0).all() and not found.scores["rankable"].any()
    assert (found.scores["unranked"] == "runs backwards").all()
    (note,) = (note for note in found.notes if note.startswith("Not ranked"))
    assert "Veil" in note and "declare hides_more" in note


def test_each_result_is_read_in_its_own_direction_and_other_directions_are_told() -> None:
    table = {("A", value): ([value / 10] * 40, [0.3 + value / 20] * 40) for value in (1, 5, 9)}
    back = {(name, 10 - value): sides for (name, value), sides in table.items()}
    found = compare_results(tiny_result(table), tiny_result(back, hides_more="larger"), replicates=200)
    rows = found.scores.set_index("score")
    assert (
        rows.loc["quipu", "first"] == pytest.approx(rows.loc["quipu", "second"]) and not rows.loc["quipu", "rankable"]
    )
    assert rows.loc["hypervolume", "rankable"], "the order does not matter to it"
    assert any("A. By what the results say, smaller values hide more in one" in note for note in found.notes)
    alike = compare_results(tiny_result(table), tiny_result(table), replicates=200)
    assert alike.scores["rankable"].all() and not any("By what" in note for note in alike.notes)


def test_a_log_without_the_originals_ranks_nothing() -> None:
    first = make_result(25, mechanisms=("CMP", "Identity"))
    manifest = {**first.manifest, "log": {**first.manifest["log"], "inject": False}}
    second = replace(first, manifest=manifest, ranks=first.ranks.assign(better=-1))
    found = compare_results(first, second, replicates=50)
    assert not found.scores["rankable"].any()
    assert any("In the second the attacker's log holds none of the 25 originals" in note for note in found.notes)


def test_curves_are_read_from_most_to_least_hidden() -> None:
    first, second = tiny_result(FIRST, hides_more="larger"), tiny_result(SECOND, hides_more="larger")
    usual = compare_results(tiny_result(FIRST), tiny_result(SECOND), replicates=500).scores.iloc[0]
    turned = compare_results(first, second, replicates=500).scores.iloc[0]
    assert (turned["first"], turned["second"]) == pytest.approx((-usual["first"], -usual["second"]))


def test_scores_and_means_by_hand() -> None:
    found = compare_results(tiny_result(FIRST), tiny_result(SECOND), replicates=500)
    row = found.scores.iloc[0]
    first = quipu_score([(0, 0.2), (0.25, 0.6), (0.75, 0.7)]).value
    second = quipu_score([(0, 0.1), (0.5, 0.6), (1, 0.7)]).value
    assert (row["attacker"], row["persona"]) == ("QuIA", "active")
    assert (row["mechanism"], row["measure"], row["settings"]) == ("A", "nDCG@10", 3)
    assert (row["first"], row["second"], row["difference"]) == pytest.approx((first, second, first - second))
    volumes = found.scores.iloc[1]
    # Over the original's utility, 0.8: found without risk, then from 0.25 on, then from 0.75 on; the second likewise.
    own, other = (0.2 * 0.25 + 0.6 * 0.5 + 0.7 * 0.25) / 0.8, (0.1 * 0.5 + 0.6 * 0.5) / 0.8
    assert (volumes["first"], volumes["second"], volumes["difference"]) == pytest.approx((own, other, own - other))
    assert found.paired and found.queries == (4, 4, 4) and found.scores["score"].tolist() == ["quipu", "hypervolume"]
    risks = found.settings[found.settings["side"] == "risk"]
    assert risks["difference"].tolist() == [0, -0.25, -0.25, 0]
    assert utilities(found)["difference"].tolist() == pytest.approx([0.1, 0, 0, 0])
    assert any("has no score" in note and "Identity" in note for note in found.notes)


def test_equal_results_differ_by_nothing() -> None:
    found = compare_results(make_result(20), make_result(20))
    for table in (found.scores, found.settings):
        assert (table["difference"] == 0).all() and table[["low", "high"]].isna().all(axis=None)
        assert (table[["p", "p_holm"]] == 1).all(axis=None)
    assert found.differs.empty and found.notes[0] == "All risks and utilities are equal."


def test_a_shift_of_every_utility_is_significant_and_leaves_the_risks_alone() -> None:
    found = compare_results(make_result(30), make_result(30, shift=0.1))
    high = utilities(found).query("second > 0.1")
    assert len(high) > 20 and (high["p_holm"] < 0.05).all()
    assert high["difference"].tolist() == pytest.approx([0.1] * len(high), abs=0.01)
    risks = found.settings[found.settings["side"] == "risk"]
    assert (risks["difference"] == 0).all() and (risks["p"] == 1).all()
    quipu = found.scores[found.scores["score"] == "quipu"]
    moved = quipu[quipu["mechanism"].isin(["CMP", "VickreyMhl", "TEM", "CusText"])]
    assert (moved["difference"] > 0.05).all() and (moved["p_holm"] < 0.05).all()


def test_plans_in_another_order_are_matched_by_name() -> None:
    first = tiny_result({**FIRST, ("B", 3): ([0] * 4, [0.4] * 4)})
    second = tiny_result({("B", 3): ([0] * 4, [0.4] * 4), **dict(reversed(FIRST.items()))})
    found = compare_results(first, second, replicates=50)
    assert (found.settings["difference"] == 0).all() and (found.scores["difference"] == 0).all()


def test_swapping_the_results_changes_the_sign_alone() -> None:
    a, b = make_result(25), make_result(25, shift=0.05)
    forth, back = compare_results(a, b, replicates=500), compare_results(b, a, replicates=500)
    for there, here in ((forth.scores, back.scores), (forth.settings, back.settings)):
        assert here["difference"].tolist() == pytest.approx((-there["difference"]).tolist())
        assert here["low"].tolist() == pytest.approx((-there["high"]).tolist(), nan_ok=True)
        assert here["p"].tolist() == there["p"].tolist()


def test_holm_corrects_within_each_attacker_and_measure() -> None:
    found = compare_results(make_result(25), make_result(25, shift=0.01), replicates=300)
    for _, family in found.scores.groupby(["attacker", "persona", "score"]):
        assert family["p_holm"].tolist() == holm(family["p"].tolist())
    for _, family in found.settings.groupby(["side", "attacker", "persona"]):
        assert len(family) == 48 and family["p_holm"].tolist() == holm(family["p"].tolist())


def test_means_and_scores_are_those_of_the_results() -> None:
    a, b = make_result(15, seeds=(3, 4)), make_result(15, seeds=(3, 4), shift=0.1)
    found = compare_results(a, b, measure="SetR", replicates=100)
    for result, side in ((a, "first"), (b, "second")):
        expected = result.quipu(measure="SetR", replicates=1).set_index(["mechanism", "attacker", "persona"])
        for score, rows in found.scores.groupby("score"):
            seen = rows.set_index(["mechanism", "attacker", "persona"])[side]
            assert seen.to_dict() == pytest.approx(expected.loc[seen.index, score].to_dict())


# --- pairing ---


def test_differences_are_formed_query_by_query() -> None:
    """A constant difference has no spread at all where queries are paired, and drowns where they are not."""
    easy = np.linspace(0.05, 0.95, 30)
    first = tiny_result({("A", 1): ([0] * 30, list(easy)), ("A", 2): ([0] * 30, list(easy))})
    second = tiny_result({("A", 1): ([0] * 30, list(easy - 0.02)), ("A", 2): ([0] * 30, list(easy - 0.02))})
    paired, apart = compare_results(first, second), compare_results(first, other_texts(second))
    row, twin = (utilities(found).iloc[0] for found in (paired, apart))
    assert row["difference"] == pytest.approx(0.02) and row["p_holm"] < 0.001
    assert np.isnan(row["low"]) and np.isnan(row["high"]), "no spread, no interval"
    assert not apart.paired and twin["difference"] == pytest.approx(0.02) and twin["p"] > 0.5
    # Two independent means: the variances add.
    spread = 2 * 1.96 * np.sqrt(2 * easy.var() / 30)
    assert twin["high"] - twin["low"] == pytest.approx(spread, rel=0.1)


def test_other_queries_are_not_paired_and_it_says_so() -> None:
    result = make_result(12)
    for other, words in ((make_result(12), "have another text"), (result, "no query id in common that both judged")):
        scores = other.scores if other is not result else other.scores.assign(qid="x" + other.scores["qid"])
        queries = other_texts(other).queries.assign(
            qid=other.queries["qid"] if other is not result else "x" + other.queries["qid"]
        )
        found = compare_results(result, replace(other, scores=scores, queries=queries), replicates=200)
        assert not found.paired and words in found.notes[0] and "independent samples" in found.notes[0]
        assert found.queries == (12, 12, 0)
        assert not any("treat" in note for note in found.notes), "the text of a query"


def test_one_other_text_among_many_ends_the_pairing() -> None:
    result = make_result(12)
    texts = result.queries["query"].tolist()
    found = compare_results(
        result, replace(result, queries=result.queries.assign(query=["new", *texts[1:]])), replicates=50
    )
    assert not found.paired and "Of 12 shared query ids 1 have another text" in found.notes[0]


def test_numbers_are_over_the_common_queries() -> None:
    many = {key: ([*r, 1, 1], [*u, 1, 1]) for key, (r, u) in FIRST.items()}
    found = compare_results(tiny_result(FIRST), tiny_result(many), replicates=50)
    assert found.paired and found.queries == (4, 6, 4) and "Of 4 and 6 queries the results share 4" in found.notes[0]
    assert (found.settings["difference"] == 0).all()


@pytest.mark.statistical
def test_intervals_cover_the_true_difference() -> None:
    """Of 150 experiments of 50 queries, 90 % or more are covered (nominal 95 %). False alarms: below 1e-6."""
    rng = np.random.default_rng(11)
    sides: list[dict[Any, Any]] = [{}, {}]
    for number in range(150):
        ease = rng.random(50)
        for side, gain in zip(sides, (0.0, 0.1), strict=True):
            side[f"E{number}", 1] = ([0] * 50, list(np.clip(0.8 * ease + gain + rng.uniform(-0.1, 0.1, 50), -1, 2)))
    results = [tiny_result(side) for side in sides]

    def check(level: float) -> None:
        rows = utilities(compare_results(*results, level=level, replicates=500))
        covered = int(((rows["low"] <= -0.1) & (rows["high"] >= -0.1)).sum())
        assert stats.binom.cdf(covered, len(rows), 0.9) >= 1e-6, covered

    check(0.95)
    assert refuted(check, 0.6)


def test_few_queries_prove_little() -> None:
    one = {key: (r[:1], u[:1]) for key, (r, u) in FIRST.items()}
    less = {key: (r, [u[0] / 2]) for key, (r, u) in one.items()}
    found = compare_results(tiny_result(one), tiny_result(less), replicates=500)
    assert (utilities(found)["p"] == 1).all() and any("1 query is few" in note for note in found.notes)
    for queries, told in ((19, True), (20, False)):
        notes = compare_results(make_result(queries), make_result(queries), replicates=10).notes
        assert any("queries are few" in note for note in notes) is told


def test_measures_that_count_documents_are_not_cut_off() -> None:
    counts = np.arange(30.0)
    first, second = (tiny_result({("A", 1): ([0] * 30, list(counts + shift))}) for shift in (6 + np.sin(counts), 0))
    row = utilities(compare_results(first, second)).iloc[0]
    assert row["difference"] == pytest.approx(6, abs=0.3) and row["low"] < 6 < row["high"] and row["low"] > 5


def test_risks_of_queries_without_judgments_are_compared_too() -> None:
    """Of 40 queries 30 are judged; the other 10 were sent all the same, and found in the first result alone."""
    table = {("A", 1): ([0.0] * 30 + [1.0] * 10, [0.5] * 40), ("A", 2): ([0.0] * 40, [0.5] * 40)}
    first, second = tiny_result(table), tiny_result({key: ([0.0] * 40, u) for key, (_, u) in table.items()})
    unjudged = (first.scores["side"] == "utility") & first.scores["qid"].isin([f"q{n}" for n in range(30, 40)])
    first, second = (replace(one, scores=one.scores[~unjudged.to_numpy()]) for one in (first, second))
    rows = compare_results(first, second).settings
    risk = rows[(rows["side"] == "risk") & (rows["value"] == 1)].iloc[0]
    assert (risk["first"], risk["second"]) == (0.25, 0) and risk["p"] < 0.05
    assert (rows.loc[rows["side"] == "utility", "first"] == 0.5).all()


def test_too_few_replicates_for_so_many_settings_are_told() -> None:
    assert any("draw more" in note for note in compare_results(make_result(), make_result(), replicates=1000).notes)
    assert not any("draw more" in note for note in compare_results(make_result(), make_result()).notes)


# --- what only one has, and what else differs ---


def test_what_only_one_result_has_is_named_and_curves_are_cut_to_what_both_have() -> None:
    a = make_result(mechanisms=("CMP", "TEM", "Identity"))
    b = make_result(mechanisms=("CMP", "FEA", "Identity"))
    frames = {name: frame for name, frame in vars(b).items() if isinstance(frame, pd.DataFrame)}
    for name in ("settings", "scores"):
        frames[name] = frames[name][~((frames[name]["mechanism"] == "CMP") & (frames[name]["value"] > 29))]
    found = compare_results(a, Result(b.manifest, **frames), replicates=100)
    assert "Only in the first: TEM." in found.notes and "Only in the second: FEA." in found.notes
    assert "Settings only in the first, left out of the scores: CMP@30, CMP@50." in found.notes
    assert found.scores["mechanism"].unique().tolist() == ["CMP"] and (found.scores["settings"] == 8).all()
    assert (found.scores["difference"] == 0).all()


def test_attackers_of_one_result_alone_are_named() -> None:
    found = compare_results(
        tiny_result(FIRST, risk=("R@10", "R@20")), tiny_result(FIRST, risk=("R@10", "RR")), replicates=50
    )
    assert found.scores["persona"].unique().tolist() == ["active"]
    assert "Attackers only in the first: active@20." in found.notes
    assert "Attackers only in the second: motivated." in found.notes


def test_what_differs_between_the_runs_is_listed() -> None:
    a = make_result()
    system = {**a.manifest["systems"][0], "depth": 100}
    b = with_manifest(
        a, n=20, log={"size": 120_000, "fingerprint": "9" * 64}, encoder={"fingerprint": "8" * 64}, systems=[system]
    )
    rows = compare_results(a, b, replicates=10).differs
    assert {row.what: (row.first, row.second) for row in rows.itertuples()} == {
        "n": ("50", "20"),
        "log.size": ("15000", "120000"),  # and its fingerprint goes without saying
        "encoder.fingerprint": ("3" * 12, "8" * 12),
        "system.depth": ("23", "100"),
    }


def test_the_first_system_of_each_is_compared() -> None:
    a, b = make_result(systems=("bm25 + minilm", "dense")), make_result(systems=("dense",))
    found = compare_results(a, b, replicates=10)
    assert found.systems == ("bm25 + minilm", "dense") and "system.name" in found.differs["what"].tolist()
    assert compare_results(a, b, system="dense", replicates=10).systems == ("dense", "dense")


@pytest.mark.parametrize(
    ("second", "more", "part"),
    [
        (make_result(mechanisms=("FEA",)), {}, "no setting in common: the first has CMP, TEM, the second FEA"),
        (make_result(judged=False), {}, "no judgments"),
        (make_result(), {"measure": "MAP"}, "no measure 'MAP'"),
        (make_result(), {"system": "dense"}, "no system 'dense'"),
        (make_result(), {"level": 95}, "0.95"),
    ],
)
def test_bad_input_says_what_there_is(second: Result, more: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        compare_results(make_result(mechanisms=("CMP", "TEM")), second, **more)


def test_results_without_a_common_attacker_or_measure_are_refused() -> None:
    with pytest.raises(InputError, match="no attacker in common: the first has lazy, the second active"):
        compare_results(tiny_result(FIRST, risk=("P@1",)), tiny_result(FIRST))
    scores = tiny_result(FIRST).scores
    renamed = replace(tiny_result(FIRST), scores=scores.assign(measure=scores["measure"].replace("nDCG@10", "AP")))
    with pytest.raises(InputError, match="no measure of utility in common: the first has nDCG@10, the second AP"):
        compare_results(tiny_result(FIRST), renamed)
