"""Section: what a plugin has to write, and what it gets without writing it."""

import jinja2
import pandas as pd
import pytest

from quipukit.report.sections import Section
from quipukit.report.table_model import Cell, ReportTable, RowGroup
from quipukit.report.views import View
from tests.example_results import make_result
from tests.report.pages import rendered, report_data


class Lengths(Section):
    """A section as a plugin might bring it: one table and nothing else."""

    id = "lengths"
    title = "Query length"

    def view_tables(self, view: View) -> list[ReportTable]:
        words = view.result.queries["query"].str.split().str.len()
        row = (Cell(view.name), Cell(f"{words.mean():.1f}"))
        frame = pd.DataFrame({"collection": [view.name], "words": [words.mean()]})
        return [ReportTable("lengths", "Words per query", ("Collection", "Words"), (RowGroup("", (row,)),), frame)]


def test_without_a_template_a_section_shows_its_tables() -> None:
    report = report_data(make_result(mechanisms=("AEA",)), make_result(name="other", mechanisms=("AEA",)))
    text = rendered(Lengths(), report)
    assert text.count("Words per query</h3>") == 2 and "5.0" in text
    assert 'data-view="0"' in text and 'data-view="1"' in text and 'id="lengths-1"' in text


@pytest.mark.parametrize("loaded", [False, True])
def test_a_template_is_a_text_or_loaded_by_the_plugin(loaded: bool) -> None:
    text = "<p>{{ greeting }} {{ views[0].name }}</p>{{ table(view_tables[0].lengths, 0) }}"

    class Own(Lengths):
        template = jinja2.Environment(autoescape=True).from_string(text) if loaded else text

        def values(self, report: object) -> dict[str, str]:
            return {"greeting": "A & B:"}

    shown = rendered(Own(), report_data(make_result(mechanisms=("AEA",))))
    assert "<p>A & B: example</p>" in shown and "Words per query</h3>" in shown


def test_values_are_escaped() -> None:
    class Odd(Lengths):
        template = "<p>{{ views[0].name }}</p>"

    report = report_data(make_result(name="<b>\N{RIGHT-TO-LEFT OVERRIDE}", mechanisms=("AEA",)))
    assert "\\u202e" in rendered(Odd(), report) and "\N{RIGHT-TO-LEFT OVERRIDE}" not in rendered(Odd(), report)


def test_a_section_applies_where_it_applies_to_any_view() -> None:
    class Judged(Lengths):
        def applies_to(self, view: View) -> bool:
            return view.judged

    full, bare = make_result(mechanisms=("AEA",)), make_result(mechanisms=("AEA",), judged=False)
    assert Judged().applies(report_data(full, bare)) and not Judged().applies(report_data(bare))
