import html
from pathlib import Path

from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.results import SMALL, only, two_attackers


def test_the_section_warns_and_is_left_out_where_there_is_one_attacker(tmp_path: Path) -> None:
    result = only(make_result(), SMALL)
    page = html.unescape(write_report([two_attackers(result)], tmp_path / "two", formats=()).read_text("utf-8"))
    assert '<section id="attackers"' in page and "QuIA alone misleads here" in page
    assert (tmp_path / "two").rglob("*strongest*")
    alone = write_report([result], tmp_path / "one", formats=()).read_text("utf-8")
    assert '<section id="attackers"' not in alone and "misleads" not in alone
