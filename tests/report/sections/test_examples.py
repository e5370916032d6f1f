"""The section of examples: only where texts are wanted and there are any."""

from dataclasses import replace

from quipukit.report.sections.examples import Examples
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_only_where_texts_are_wanted_and_there_are_guesses() -> None:
    result = make_result(mechanisms=("AEA",))
    assert Examples().applies(report_data(result)) and not Examples().applies(report_data(result, examples=False))
    assert not Examples().applies(report_data(replace(result, guesses=result.guesses.iloc[:0])))
    assert 'id="example-query"' in rendered(Examples(), report_data(result))
