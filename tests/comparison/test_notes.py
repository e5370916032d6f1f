"""What is said beside the numbers."""

import pandas as pd

from quipukit.comparison import compare_results
from quipukit.results import Result
from tests.comparison.results import FIRST, utilities
from tests.example_results import make_result
from tests.recommend.results import tiny_result


def test_few_queries_prove_little() -> None:
    one = {key: (r[:1], u[:1]) for key, (r, u) in FIRST.items()}
    less = {key: (r, [u[0] / 2]) for key, (r, u) in one.items()}
    found = compare_results(tiny_result(one), tiny_result(less), replicates=500)
    assert (utilities(found)["p"] == 1).all() and any("1 query is few" in note for note in found.notes)
    for queries, told in ((19, True), (20, False)):
        notes = compare_results(make_result(queries), make_result(queries), replicates=10).notes
        assert any("queries are few" in note for note in notes) is told


def test_too_few_replicates_for_so_many_settings_are_told() -> None:
    assert any("draw more" in note for note in compare_results(make_result(), make_result(), replicates=1000).notes)
    assert not any("draw more" in note for note in compare_results(make_result(), make_result()).notes)


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
