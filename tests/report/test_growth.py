"""Risk against the variants seen: the numbers of the table, and a sentence that they bear out."""

from dataclasses import replace

import pytest

from quipukit.report.growth import grown_mechanisms, growth_curves, growth_frame, growth_sentence
from quipukit.report.views import views_of
from quipukit.results import TABLES
from tests.example_results import make_result
from tests.report.results import SMALL, grown, only, two_attackers


def test_curves_end_at_the_risks_of_the_report() -> None:
    (view,) = views_of([grown(two_attackers(only(make_result(), SMALL)))])
    frame = growth_frame(view)
    assert grown_mechanisms(view, frame) == ["CMP", "AEA"] and set(frame["seen"]) == {1, 5, 50}
    curves = growth_curves(view, frame, "CMP", "R@10")
    assert [float(curve["QuIA"]["value"].iloc[0]) for curve in curves] == [1.0, 10.0, 50.0]
    for curve in curves:
        for attacker, own in curve.items():
            assert own["seen"].tolist() == [1, 5, 50] and attacker in ("QuIA", "strongest")
            assert ((own["low"] <= own["risk"]) & (own["risk"] <= own["high"])).all()
    (own,) = [one["QuIA"] for one in curves if one["QuIA"]["value"].iloc[0] == 10.0]
    points = view.points.query("mechanism == 'CMP' and value == 10 and label == 'QuIA active'")
    assert own["risk"].iloc[-1] == pytest.approx(points["risk"].iloc[0])


def test_the_sentence_names_the_steepest_rise() -> None:
    (view,) = views_of([grown(only(make_result(), SMALL))])
    frame = growth_frame(view)
    rows = frame[(frame["measure"] == "R@10") & (frame["attacker"] == "QuIA")]
    rises = {key: own["risk"].iloc[-1] - own["risk"].iloc[0] for key, own in rows.groupby(["mechanism", "value"])}
    name, value = max(rises, key=rises.__getitem__)
    told = growth_sentence(view, frame)
    first, last = (rows.query(f"mechanism == '{name}' and value == {value}").iloc[place] for place in (0, -1))
    assert told.startswith(f"At {name}@{value:g} QuIA finds {100 * first['risk']:.0f} % (")
    assert f"with ten guesses from one variant, and {100 * last['risk']:.0f} % (" in told
    assert told.endswith("from 50 (in brackets 95 % intervals). Of the 5 settings shown this is the steepest rise.")


def test_where_nothing_rises_the_sentence_says_so() -> None:
    result = grown(only(make_result(), SMALL))
    level = result.growth.assign(better=0, log_rank=1.0)
    (view,) = views_of([replace(result, growth=level)])
    told = growth_sentence(view, growth_frame(view))
    assert told == (
        "At none of the 5 settings shown does QuIA find more with ten guesses from all variants than from one; at 5 of "
        "them it finds 95 % or more from one already."
    )
    (view,) = views_of([replace(result, growth=level.assign(better=50))])
    assert growth_sentence(view, growth_frame(view)).endswith("from all variants than from one.")
    (empty,) = views_of([replace(result, growth=TABLES["growth"].empty())])
    assert growth_sentence(empty, growth_frame(empty)) == ""
