"""The data of the page's script: safe inside a script element, labels clear of each other."""

import json

from quipukit.report.chart_data import chart_data, plane_labels, script_safe
from quipukit.report.palette import looks_of
from quipukit.report.views import View
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


def test_without_examples_no_text(view: View) -> None:
    looks = looks_of(view.mechanisms)
    assert chart_data([view], looks, examples=True)["views"][0]["examples"]
    bare = chart_data([view], looks, examples=False)
    assert bare["views"][0]["examples"] == [] and "illness" not in script_safe(bare)
