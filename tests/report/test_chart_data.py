"""The data of the page's script: safe inside a script element, labels clear of each other."""

import json
from dataclasses import replace

from quipukit.report.chart_data import chart_data, plane_labels, script_safe
from quipukit.report.palette import looks_of
from quipukit.report.views import View, views_of
from tests.report.results import HOSTILE


def test_script_safe_survives_the_round_trip() -> None:
    data = {"a": HOSTILE, "b": ["</script>", "<!--", "]]>"]}
    text = script_safe(data)
    assert json.loads(text) == data
    assert not set(text) & set("<>&\u2028\u2029")


def test_labels_of_a_curve_keep_apart_and_name_every_setting(view: View) -> None:
    labels = plane_labels(view.curve("CMP", "active"))
    texts = [text for text, _ in labels if text]
    assert len(labels) == len(view.curve("CMP", "active")) and texts and len(set(texts)) == len(texts)


def test_a_point_tells_what_is_learned_about_the_need(view: View) -> None:
    [cmp] = [
        one
        for one in chart_data([view], looks_of(view.mechanisms), False)["views"][0]["mechanisms"]
        if one["name"] == "CMP"
    ]
    row = view.curve("CMP", "active").iloc[3]
    told = cmp["need"]["active"]
    assert len(told) == len(cmp["values"])
    assert told[3] == f"need leaked: {row['need_consensus']:.3f} by consensus, {row['need_guess']:.3f} by guessing"
    [bare] = views_of([replace(view.result, need=view.result.need.iloc[:0])])
    mechanisms = chart_data([bare], looks_of(view.mechanisms), False)["views"][0]["mechanisms"]
    assert not any(text for one in mechanisms for told in one["need"].values() for text in told)


def test_without_examples_no_text(view: View) -> None:
    looks = looks_of(view.mechanisms)
    assert chart_data([view], looks, examples=True)["views"][0]["examples"]
    bare = chart_data([view], looks, examples=False)
    assert bare["views"][0]["examples"] == [] and "illness" not in script_safe(bare)
