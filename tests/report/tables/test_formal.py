"""The formal side: guarantees and budgets."""

from quipukit.report import tables
from quipukit.report.table_model import DASH
from quipukit.report.views import View


def test_the_formal_side_says_what_is_promised(view: View) -> None:
    rows = {(row[0].text, row[1].text): row for group in tables.formal(view).row_groups for row in group.rows}
    cmp = [cell.text for cell in rows["CMP", "epsilon 12.5"]]
    assert cmp[2:5] == ["12.5-metric DP (euclidean) per word", "50", "625"]
    assert tables.formal(view).headings[3:6] == ("N", "N × epsilon", "N × L × epsilon")
    assert "2.0 %" in cmp and "uniform" in cmp
    aea = [cell.text for cell in rows["AEA", "level 3"]]
    assert aea[2] == "none: a heuristic" and aea[4:6] == [DASH, DASH] and aea.count(DASH) == 5
