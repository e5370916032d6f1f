"""Phrases of the report: scores with and without an interval, lists, capitals."""

import math

from quipukit.report.wording import capitalized, join, risk_name, scores_text


def test_a_missing_interval_is_left_out() -> None:
    row = {"quipu": 0.1234, "low": 0.1, "high": 0.2, "hypervolume": 0.5}
    row |= {"hypervolume_low": math.nan, "hypervolume_high": math.nan}
    assert scores_text(row) == ["QuIPU 0.123 [0.100, 0.200]", "HV 0.500"]


def test_lists_and_capitals() -> None:
    assert [join(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert capitalized("") == "" and capitalized("the QuIA attacker") == "The QuIA attacker"


def test_the_measure_behind_a_label() -> None:
    assert [risk_name(label) for label in ("lazy", "QuIA active", "active@20", "My Own motivated")] == [
        "P@1",
        "R@10",
        "R@20",
        "RR",
    ]
