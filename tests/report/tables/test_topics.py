"""The table of topics: the most exposed kind first, and what rests on few queries."""

from quipukit.report import tables
from quipukit.report.tables.topics import FEW_TOPICS, SMALL
from quipukit.report.topics import topics_frame
from quipukit.report.views import View, views_of
from tests.report.topical import topical_result


def test_kinds_as_columns_with_their_counts() -> None:
    (view,) = views_of([topical_result(queries=40, step=3)])
    table, frame = tables.topics(view), topics_frame(view)
    counts = frame.drop_duplicates("kind").set_index("kind")["queries"]
    assert table.headings[2:] == tuple(
        f"{kind} ({count}){SMALL if count < FEW_TOPICS else ''}" for kind, count in counts.items()
    )
    assert counts["health"] >= FEW_TOPICS > counts.min()
    means = frame.groupby("kind", sort=False)["leakage"].mean()
    assert means.is_monotonic_decreasing
    rows = {(row[0].text, row[1].text): row[2:] for part in table.row_groups for row in part.rows}
    cell = rows["CMP", "epsilon 10"][list(counts.index).index("health")]
    own = frame[(frame["kind"] == "health") & (frame["mechanism"] == "CMP") & (frame["value"] == 10.0)]
    assert cell.text == f"{own['leakage'].item():.3f}" and cell.small and "fewer than 10 queries" in table.caption
    bold = [cell.bold for cell in rows["CMP", "epsilon 10"]]
    assert any(bold) and not any(cell for cell, count in zip(bold, counts, strict=True) if count < FEW_TOPICS)


def test_no_row_without_kinds(small: View) -> None:
    assert tables.topics(small).empty
