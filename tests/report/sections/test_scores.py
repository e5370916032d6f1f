"""Scores: present where anything was judged, with the comparisons behind the marks."""

from quipukit.report.sections.scores import Scores
from quipukit.report.views import View
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, only


def test_tables_of_the_judged_views(view: View) -> None:
    full, bare = only(make_result(name="full"), SMALL), make_result(name="bare", judged=False, mechanisms=("AEA",))
    report = report_data(bare, full)
    text = rendered(Scores(), report)
    assert Scores().applies(report) and not Scores().applies(report_data(bare))
    assert text.count("QuIPU score and hypervolume</h3>") == 1 and "References</h3>" in text
    assert 'data-view="1"' in text and 'data-view="0"' not in text
    assert list(Scores().view_frames(view)) == ["comparisons"] and not Scores().view_frames(report.views[0])


def test_references_alone_have_no_scores() -> None:
    text = rendered(Scores(), report_data(make_result(mechanisms=("Identity", "Random"))))
    assert "References</h3>" in text and "QuIPU score and hypervolume" not in text
