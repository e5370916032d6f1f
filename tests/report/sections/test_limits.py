"""The limitations: stated, and whether texts were left out."""

from quipukit.report.sections.limits import Limits
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


def test_limitations() -> None:
    result = make_result(mechanisms=("AEA",))
    text = rendered(Limits(), report_data(result))
    assert (
        "Risk is a lower bound: it was measured with QuIA" in text
        and "<code>quipukit evaluate --seeds 3</code>" in text
    )
    assert "leaves out all query texts" not in text
    assert "leaves out all query texts" in rendered(Limits(), report_data(result, examples=False))
