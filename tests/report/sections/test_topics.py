"""By topic: a section of its own where there are kinds."""

from quipukit.report.sections.topics import Topics
from tests.example_results import make_result
from tests.report.pages import rendered, report_data
from tests.report.results import SMALL, only
from tests.report.topical import topical_result


def test_only_where_there_are_kinds() -> None:
    report = report_data(topical_result(), only(make_result(), SMALL))
    assert [Topics().applies_to(view) for view in report.views] == [True, False]
    text = rendered(Topics(), report)
    assert text.count("Need leakage by topic</h3>") == 1 and "law (" in text
    assert not any(query in text for query in report.views[0].result.queries["query"])
    assert not Topics().applies(report_data(only(make_result(judged=False), SMALL)))
