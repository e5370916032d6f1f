"""Frontier: a section of judged views, with an SVG that shows every setting, and a table."""

import re

from quipukit.report.sections.frontier import Frontier
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, hostile_result, only


def test_an_svg_and_a_table() -> None:
    report = report_data(only(make_result(), SMALL))
    text = rendered(Frontier(), report)
    assert len(re.findall(r'<g class="point ', text)) == 7 and text.count('class="point reference') == 2
    assert 'class="steps"' in text and "The frontier of settings" in text and "need leakage: 0" in text
    assert [drawing.name for drawing in Frontier().drawings(report.views[0], report.looks)] == ["frontier"]


def test_only_where_there_is_utility() -> None:
    report = report_data(only(make_result(judged=False), SMALL))
    assert not Frontier().applies(report) and not Frontier().view_tables(report.views[0])
    references = report_data(only(make_result(), {"Identity": (0.0,), "Random": (0.0,)}))
    assert not Frontier().applies(references) and not list(Frontier().drawings(references.views[0], {}))


def test_no_query_text() -> None:
    assert "alert" not in rendered(Frontier(), report_data(hostile_result()))
