"""What notebooks show: every object of the library that people look at, escaped, and without the text of a query."""

import re

import pandas as pd
import pytest

import quipukit as qk
from quipukit.richtext import block, escaped, table
from tests.example_results import make_result

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"


def well_formed(html: str) -> bool:
    """Return whether every element that is opened is closed, in order; the few names used here need no more."""
    open_names: list[str] = []
    for closing, name in re.findall(r"<(/?)([a-z]+)[^>]*>", html):
        if not closing:
            open_names.append(name)
        elif not open_names or open_names.pop() != name:
            return False
    return not open_names


@pytest.mark.parametrize("made", [table([HOSTILE], [[HOSTILE]]), block(HOSTILE, {HOSTILE: HOSTILE}, [HOSTILE])])
def test_nothing_becomes_markup(made):
    assert "<script" not in made and "\x1b" not in made and "\u202e" not in made
    assert "&lt;script&gt;" in made and well_formed(made)
    assert "&lt;script" in escaped(HOSTILE)


def test_missing_numbers_are_empty_and_whole_ones_whole():
    assert re.findall(r">([^<]*)</td>", table(["a"], [[float("nan")], [None], [3.0], [0.25]])) == ["", "", "3", "0.250"]


def test_specs_and_scores():
    html = qk.spec("CusText(k=20, mapping='<b>')@10")._repr_html_()
    assert "CusText(k=20, mapping=&#x27;&lt;b&gt;&#x27;)@10" in html and well_formed(html)
    score = qk.quipu_score([(0.0, 0.1), (0.2, 0.5), (0.9, 0.6)])
    html = score._repr_html_()
    assert f"QuIPU {score.value:.3f}" in html and "hypervolume" in html and well_formed(html)


@pytest.mark.parametrize("judged", [True, False])
def test_a_result_shows_its_settings_and_no_query(judged):
    result = make_result(judged=judged, name=HOSTILE)
    html = result._repr_html_()
    assert well_formed(html) and "<script" not in html
    assert "CMP" in html and "more settings" in html
    assert not [query for query in result.queries["query"] if query in html]
    if judged:
        points = result.points()
        row = points[(points["mechanism"] == "CMP") & (points["persona"] == "active")].iloc[0]
        assert f"{row['utility']:.3f}" in html


def test_a_recommendation_shows_its_sentence_and_the_frontier():
    advice = make_result(queries=60).recommend(max_risk=0.5)
    html = advice._repr_html_()
    assert escaped(advice.sentence) in html and "risk_high" in html and well_formed(html)
    if advice.best is not None:
        assert escaped(advice.best.words) in advice.best._repr_html_()


def test_tables_of_scores_are_frames_which_notebooks_show_by_themselves():
    assert isinstance(make_result().quipu(replicates=1), pd.DataFrame)
