"""The table of equal empirical privacy: settings with intervals, and in words what is not reached."""

import math

from quipukit.report import tables
from quipukit.report.tables.equal_risk import MOVED, setting_cell
from quipukit.report.views import View
from tests.report.results import by_name

ROW = {
    **{"parameter": "epsilon", "reached": "at", "value": 7.3456, "value_low": 5.0, "value_high": math.inf},
    **{"first": 1.0, "last": 50.0, "first_risk": 0.13, "last_risk": 0.9, "misfit": 0.0},
}


def test_rows_and_columns(view: View) -> None:
    table = tables.equal_risk(view)
    assert table.headings == ("Mechanism", *("Setting", "nDCG@10") * 3)
    assert [head for head, _ in table.column_groups] == ["R@10 = 0.05", "R@10 = 0.1", "R@10 = 0.2"]
    rows = by_name(table)
    assert list(rows) == view.mechanisms
    assert rows["FEA"][0].text == "always" and rows["FEA"][1].text == "\N{EN DASH}"
    assert rows["FEA"][0].small == ("0.000 at window 16, the least hidden",)
    own = table.frame[(table.frame["mechanism"] == "TEM") & (table.frame["target"] == 0.1)].iloc[0]
    assert rows["TEM"][2].text == f"epsilon {own['value']:.3g}" and rows["TEM"][3].text == f"{own['utility']:.3f}"
    assert "With fewer than 20 queries" in table.caption and len(view.result.queries) < 20


def test_a_setting_in_words() -> None:
    assert setting_cell(ROW).plain == "epsilon 7.35 [5, above 50]"
    assert (
        setting_cell({**ROW, "value_low": -math.inf, "misfit": 0.06}).plain
        == f"epsilon 7.35{MOVED} [below 1, above 50]"
    )
    assert setting_cell({**ROW, "reached": "never"}).plain == "never 0.130 at epsilon 1, the most hidden"
    assert setting_cell({**ROW, "reached": "always"}).plain == "always 0.900 at epsilon 50, the least hidden"
    falling = {**ROW, "parameter": "k", "first": 200.0, "last": 50.0}
    assert setting_cell(falling).plain == "k 7.35 [5, above 200]"
