"""The tables of the radar: which triangle is marked as best."""

from dataclasses import replace

from quipukit.report import tables
from quipukit.report.views import views_of
from tests.report.results import (
    narrow_result,
)


def test_the_triangle_of_a_narrow_curve_is_not_bold() -> None:
    result = narrow_result()
    settings = result.settings.assign(sentence_similarity=1 - 0.9 * (result.settings["mechanism"] == "AEA"))
    (view,) = views_of([replace(result, settings=settings)])
    table = tables.radar(view)
    areas = table.frame.groupby("mechanism")["area"].max()
    assert areas["AEA"] > areas["CMP"]
    assert not any(cell.bold for group in table.row_groups for row in group.rows for cell in row)
