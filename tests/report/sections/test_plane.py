"""The plane: two figures per attacker, and only where there is utility."""

from quipukit.report.sections.plane import Plane
from quipukit.report.views import View
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_figures_of_each_attacker(view: View) -> None:
    names = [drawing.name for drawing in Plane().drawings(view, {})]
    assert names == [f"{kind}-{who}" for who in ("lazy", "active", "motivated") for kind in ("plane", "panels")]


def test_only_with_utility_and_examples_only_if_wanted() -> None:
    bare = report_data(make_result(judged=False, mechanisms=("AEA",)))
    assert not Plane().applies(bare) and not list(Plane().drawings(bare.views[0], {}))
    result = make_result(mechanisms=("AEA",))
    assert "and an example." in rendered(Plane(), report_data(result))
    assert "and an example." not in rendered(Plane(), report_data(result, examples=False))
