"""The table of the frontier: each setting with its place in words."""

from dataclasses import replace

from quipukit.report import tables
from quipukit.report.tables.frontier import place_text
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import SMALL, by_name, only


def test_places_and_numbers(small: View) -> None:
    table = tables.frontier(small)
    rows = by_name(table)
    assert list(rows) == ["CMP@1", "CMP@10", "CMP@50", "AEA@4", "AEA@3", "Identity", "Random"]
    assert rows["Identity"][-1].text == rows["Random"][-1].text == "reference"
    assert rows["CMP@50"][-1].text == "on the frontier" and rows["CMP@50"][-1].bold
    assert rows["AEA@4"][-1].text == "beaten by AEA@3" and not rows["AEA@4"][-1].bold
    frame = table.frame.set_index("name")
    assert rows["CMP@10"][2].text == f"{frame.loc['CMP@10', 'utility']:.3f}" and rows["CMP@10"][2].small
    assert rows["CMP@10"][5].text == f"{frame.loc['CMP@10', 'need']:.3f}"
    assert len(table.headings) == 9 and "label" not in table.frame


def test_what_pools_too_much_is_marked() -> None:
    result = only(make_result(), SMALL)
    shares = result.settings["pooled_share"].mask(result.settings["mechanism"] == "CMP", 0.05)
    (view,) = views_of([replace(result, settings=result.settings.assign(pooled_share=shares))])
    rows = by_name(tables.frontier(view))
    assert {rows[f"CMP@{value}"][-1].text for value in (1, 10, 50)} == {"pools too much"}
    assert (rows["CMP@50"][6].text, rows["CMP@50"][6].marks) == ("5.0 %", tables.POOLS_MUCH)
    assert "CMP" not in rows["AEA@4"][-1].text + rows["AEA@3"][-1].text


def test_place_in_words() -> None:
    row = {"reference": False, "pools_much": False, "frontier": False, "beaten_by": "CMP@5"}
    assert place_text(row) == "beaten by CMP@5"
    assert place_text({**row, "pools_much": True}) == "pools too much"
