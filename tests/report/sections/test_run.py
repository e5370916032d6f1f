"""The section on what was run: one list per result, not per system."""

from quipukit.report.sections.run import Run
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_one_list_per_result() -> None:
    twice = make_result(mechanisms=("AEA",), systems=("one", "two"))
    text = rendered(Run(), report_data(twice))
    assert text.count("<dl>") == 1 and "<h3>" not in text and "117,659 documents" in text
    text = rendered(Run(), report_data(twice, make_result(name="other", mechanisms=("AEA",))))
    assert text.count("<dl>") == 2 and "<h3>other</h3>" in text
