"""The effect of the parameter: plots and numbers of all settings."""

from quipukit.report.sections.parameter import Parameter
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_utility_and_risk() -> None:
    report = report_data(make_result(mechanisms=("AEA", "Identity")))
    text = rendered(Parameter(), report)
    assert 'id="plot-utility"' in text and 'id="plot-risk"' in text and "level 3" in text
    assert [drawing.name for drawing in Parameter().drawings(report.views[0], report.looks)] == ["parameter"]


def test_risk_only() -> None:
    text = rendered(Parameter(), report_data(make_result(judged=False, mechanisms=("AEA",))))
    assert 'id="plot-utility"' not in text and '<details data-view="0" open>' in text


def test_no_figure_without_a_parameter() -> None:
    report = report_data(make_result(mechanisms=("Identity",)))
    assert not list(Parameter().drawings(report.views[0], report.looks))
