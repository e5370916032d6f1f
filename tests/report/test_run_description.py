"""What was run and its limitations: stated, and without anything that gives a query away."""

from pathlib import Path

from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.pages import write


def test_a_report_lets_nobody_test_a_guess_of_the_queries(tmp_path: Path) -> None:
    result = make_result()
    page = write_report([result], tmp_path, examples=False, formats=()).read_text(encoding="utf-8")
    assert result.manifest["queries"]["fingerprint"][:12] not in page
    assert result.manifest["collection"]["fingerprint"][:12] in page


def test_the_page_says_what_was_run_and_its_limits(tmp_path: Path) -> None:
    page = write(make_result(), tmp_path)
    for words in (
        "117,659 documents",
        "15,000 queries",
        "encoder minilm",
        "bm25 retrieves 23 documents",
        "derived, not made by people",
        "lower bound",
        "comparable parts of the diagonal",
        "small collection",
        "N = 50 variants",
    ):
        assert words in page, words
