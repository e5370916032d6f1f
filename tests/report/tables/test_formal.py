"""The formal side: guarantees and budgets."""

from dataclasses import replace

import pytest

from quipukit.report import tables
from quipukit.report.table_model import DASH
from quipukit.report.views import View, views_of
from tests.example_results import make_result


def test_the_formal_side_says_what_is_promised(view: View) -> None:
    rows = {(row[0].text, row[1].text): row for group in tables.formal(view).row_groups for row in group.rows}
    cmp = [cell.text for cell in rows["CMP", "epsilon 12.5"]]
    assert cmp[2:5] == ["12.5-metric DP (euclidean) per word", "50", "625"]
    assert tables.formal(view).headings[3:6] == ("N", "N × epsilon", "N × L × epsilon")
    assert "2.0 %" in cmp and "uniform" in cmp
    aea = [cell.text for cell in rows["AEA", "level 3"]]
    assert aea[2] == "none: a heuristic" and aea[4:6] == [DASH, DASH] and aea.count(DASH) == 5


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ("independent", ""),
        ("common", "The settings of a mechanism share their noise, so each budget holds for its setting alone"),
        (None, "Nothing says how the noise was drawn, and the settings may share it, so each budget holds"),
    ],
)
def test_budgets_of_several_settings_add_up_only_if_their_noise_is_independent(noise: str | None, said: str) -> None:
    result = make_result()
    (view,) = views_of([replace(result, manifest={**result.manifest, "noise": noise})])
    caption = tables.formal(view).caption
    assert said in caption and ("no finite guarantee" in caption) == (noise != "independent")
