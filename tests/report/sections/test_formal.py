"""The section of guarantees: one table per view."""

from quipukit.report.sections.formal import Formal
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_a_table_per_view() -> None:
    report = report_data(make_result(mechanisms=("AEA",), systems=("one", "two")))
    text = rendered(Formal(), report)
    assert text.count("Guarantees, and what leaks anyway</h3>") == 2 and "none: a heuristic" in text
