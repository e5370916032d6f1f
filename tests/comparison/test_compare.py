"""Two results side by side: by hand, equal ones, shifted ones, and what pairing is worth."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from quipukit.comparison import compare_results
from quipukit.errors import InputError
from quipukit.results import Result
from tests.comparison.results import FIRST, SECOND, other_texts, utilities
from tests.example_results import make_result
from tests.recommend.results import tiny_result
from tests.results.test_result import sweep_of

FEW = ("CMP", "TEM", "AEA", "Identity")

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


def test_equal_results_differ_by_nothing() -> None:
    found = compare_results(make_result(20, mechanisms=FEW), make_result(20, mechanisms=FEW))
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


def test_means_and_scores_are_those_of_the_results() -> None:
    a, b = (make_result(15, seeds=(3, 4), shift=shift, mechanisms=FEW) for shift in (0.0, 0.1))
    found = compare_results(a, b, measure="SetR", replicates=100)
    for result, side in ((a, "first"), (b, "second")):
        expected = result.quipu(measure="SetR", replicates=1).set_index(["mechanism", "attacker", "persona"])
        for score, rows in found.scores.groupby("score"):
            seen = rows.set_index(["mechanism", "attacker", "persona"])[side]
            assert seen.to_dict() == pytest.approx(expected.loc[seen.index, score].to_dict())


# --- pairing ---


def test_other_queries_are_not_paired_and_it_says_so() -> None:
    result = make_result(12, mechanisms=FEW)
    for other, words in (
        (make_result(12, mechanisms=FEW), "have another text"),
        (result, "no query id in common that both judged"),
    ):
        scores = other.scores if other is not result else other.scores.assign(qid="x" + other.scores["qid"])
        queries = other_texts(other).queries.assign(
            qid=other.queries["qid"] if other is not result else "x" + other.queries["qid"]
        )
        found = compare_results(result, replace(other, scores=scores, queries=queries), replicates=200)
        assert not found.paired and words in found.notes[0] and "independent samples" in found.notes[0]
        assert found.queries == (12, 12, 0)
        assert not any("treat" in note for note in found.notes), "the text of a query"


def test_one_other_text_among_many_ends_the_pairing() -> None:
    result = make_result(12, mechanisms=FEW)
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


# --- what only one has, and what else differs ---


def test_the_first_system_of_each_is_compared() -> None:
    a, b = (make_result(systems=systems, mechanisms=FEW) for systems in (("bm25 + minilm", "dense"), ("dense",)))
    found = compare_results(a, b, replicates=10)
    assert found.systems == ("bm25 + minilm", "dense") and "system.name" in found.differs["what"].tolist()
    assert compare_results(a, b, system="dense", replicates=10).systems == ("dense", "dense")


@pytest.mark.parametrize(
    ("second", "more", "part"),
    [
        ({"mechanisms": ("FEA",)}, {}, "no setting in common: the first has CMP, TEM, the second FEA"),
        ({"judged": False}, {}, "no judgments"),
        ({}, {"measure": "MAP"}, "no measure 'MAP'"),
        ({}, {"system": "dense"}, "no system 'dense'"),
        ({}, {"level": 95}, "0.95"),
    ],
)
def test_bad_input_says_what_there_is(second: dict[str, Any], more: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part):
        compare_results(make_result(mechanisms=("CMP", "TEM")), make_result(**second), **more)


def test_results_without_a_common_attacker_or_measure_are_refused() -> None:
    with pytest.raises(InputError, match="no attacker in common: the first has lazy, the second active"):
        compare_results(tiny_result(FIRST, risk=("P@1",)), tiny_result(FIRST))
    scores = tiny_result(FIRST).scores
    renamed = replace(tiny_result(FIRST), scores=scores.assign(measure=scores["measure"].replace("nDCG@10", "AP")))
    with pytest.raises(InputError, match="no measure of utility in common: the first has nDCG@10, the second AP"):
        compare_results(tiny_result(FIRST), renamed)


# --- sweeps over N ---


def at_n(result: Result, n: int) -> Result:
    return replace(result, settings=result.settings.assign(n=n), manifest={**result.manifest, "n": n})


def test_sweeps_are_compared_at_the_largest_n_that_both_have() -> None:
    fewer, more = (make_result(queries=4, mechanisms=("CMP", "TEM"), shift=shift) for shift in (0.1, 0.0))
    first = sweep_of(at_n(fewer, 5), at_n(more, 20), at_n(more, 50))
    second = sweep_of(at_n(more, 5), at_n(fewer, 20))
    expected = compare_results(more, fewer, replicates=20)
    found = compare_results(first, second, replicates=20)
    pd.testing.assert_frame_equal(found.scores, expected.scores)
    assert "With 20 variants per query; there is also N = 5, 50." in found.notes
    five = compare_results(first, second, replicates=20, n=5)
    pd.testing.assert_frame_equal(five.scores, compare_results(fewer, more, replicates=20).scores)
    with pytest.raises(InputError, match="there is no n=50"):
        compare_results(first, second, n=50)


def test_results_of_one_n_each_are_compared_whatever_it_is() -> None:
    result = make_result(queries=4, mechanisms=("CMP", "TEM"))
    other = at_n(result, 7)
    assert not any("variants per query" in note for note in compare_results(result, other, replicates=20).notes)
    with pytest.raises(InputError, match="no n in common: the first has n = 5, 20, the second n = 50"):
        compare_results(sweep_of(at_n(result, 5), at_n(result, 20)), result)
