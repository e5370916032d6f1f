"""What the tables share: groups by strategy, and frames without labels for people."""

from quipukit.report.table_model import Cell
from quipukit.report.tables.rows import by_mechanism, grouped, named_frame, over_queries, setting_text
from quipukit.report.views import View


def test_rows_are_grouped_by_strategy_in_order_of_appearance() -> None:
    rows = {("b", "1"): (Cell("1"),), ("a", "2"): (Cell("2"),), ("b", "3"): (Cell("3"),)}
    groups = [(group.heading, [row[0].text for row in group.rows]) for group in grouped(rows)]
    assert groups == [("b", ["1", "3"]), ("a", ["2"])]


def test_one_row_per_mechanism_and_references_apart(view: View) -> None:
    def cells(view: View, name: str) -> list[Cell]:
        return [Cell("x")]

    assert [row[0].text for group in by_mechanism([view], cells) for row in group.rows] == view.mechanisms
    assert [row[0].text for group in by_mechanism([view], cells, references=True) for row in group.rows] == [
        "Identity",
        "Random",
    ]


def test_a_frame_is_named_and_has_no_labels(view: View) -> None:
    frame = named_frame(view, view.points)
    assert list(frame.columns[:2]) == ["collection", "system"] and set(frame["collection"]) == {"example"}
    assert "label" in view.points and "label" not in frame and "persona" in frame


def test_sentences(view: View) -> None:
    assert over_queries(view) == "example: 12 queries." and setting_text("", 0.0) == "\N{EN DASH}"
