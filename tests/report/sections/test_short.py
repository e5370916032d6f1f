"""In short: a card per attacker, with or without utility."""

from quipukit.report.sections.short import Short
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, only


def test_a_card_per_attacker() -> None:
    text = rendered(Short(), report_data(only(make_result(), SMALL)))
    assert text.count('<article class="card">') == 3 and "best by QuIPU" in text and "best by hypervolume" in text
    assert 'class="which"' not in text, "one view needs no name"


def test_without_judgments_the_lowest_risk_and_a_warning() -> None:
    text = rendered(Short(), report_data(make_result(judged=False, mechanisms=("AEA",))))
    assert "lowest risk" in text and 'class="lead warning"' in text and "Two scores" not in text
