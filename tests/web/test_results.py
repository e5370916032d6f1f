"""Results as the page shows them."""

import json

import pytest

from quipukit.errors import InputError
from quipukit.web.comparing import compared
from quipukit.web.results import OpenResult
from tests.example_results import make_result
from tests.report.results import hostile_result
from tests.web.fakes import open_results


def test_a_result_is_plain_json() -> None:
    for one in (*open_results(), OpenResult("odd", hostile_result())):
        text = json.dumps(one.detail, allow_nan=False)
        assert one.result.name in json.loads(text)["collection"]


def test_points_cover_all_attackers_and_personas() -> None:
    one = open_results()[0]
    (view,) = one.detail["views"]
    assert {"QuIA", "Words", "strongest"} == set(view["attackers"])
    assert len(view["points"]) == 14 * 3 * 3
    points = one.views[0].points
    shown = next(row for row in view["points"] if (row["name"], row["attacker"]) == ("CMP@10", "strongest"))
    true = points[(points["mechanism"] == "CMP") & (points["value"] == 10) & (points["attacker"] == "strongest")].iloc[
        0
    ]
    assert shown["risk"] == pytest.approx(true["risk"], abs=1e-5) and shown["utility"] == pytest.approx(
        true["utility"], abs=1e-5
    )
    assert not any(row["counted"] for row in view["points"] if row["mechanism"] == "Identity")


def test_queries_without_judgments_have_risk_alone(tmp_path) -> None:
    make_result(judged=False, mechanisms=("CMP",)).save(tmp_path / "bare")
    one = OpenResult.load(tmp_path / "bare")
    assert one.name == "bare" and not one.detail["views"][0]["judged"] and one.places_of("CMP", 10.0) == []
    rows = one.queries(0, "CMP", 50.0, "QuIA", "lazy")
    assert {row["utility"] for row in rows} == {None} and rows[0]["rank"] >= 1


def test_what_is_not_there() -> None:
    one = open_results()[0]
    with pytest.raises(InputError, match="views"):
        one.view(3)
    with pytest.raises(InputError, match="no such setting"):
        one.queries(0, "CMP", 11.0, "QuIA", "lazy")
    with pytest.raises(InputError, match="no such file"):
        one.file("../manifest.json")
    assert one.examples(0, "CMP", 11.0) == [] and one.places_of("CMP", 11.0) == []


def test_a_comparison_is_plain_json() -> None:
    first, second = open_results()
    text = json.dumps(compared(first.result, second.result), allow_nan=False)
    assert json.loads(text)["queries"] == [12, 12, 12]
