"""The view of ECIR 2024 as numbers: the axes and area of each triangle, and the epsilons of equal privacy."""

from quipukit.report import radar as radar_view
from quipukit.report.table_model import Cell, ReportTable, number
from quipukit.report.tables.rows import Rows, grouped, named_frame, range_text, setting_text
from quipukit.report.views import View


def radar(view: View) -> ReportTable:
    """Return the three axes of ECIR 2024 and the area of the triangle, one row per chosen setting."""
    frame = radar_view.radar_frame(view)
    ranked = view.scores.groupby("mechanism")["rankable"].all()
    rows: Rows = {}
    for row in frame.to_dict("records"):
        best = row["area"] == frame["area"].max() and bool(ranked.get(row["mechanism"], False))
        rows[row["strategy"], f"{row['mechanism']}@{row['value']}"] = (
            Cell(row["mechanism"]),
            Cell(setting_text(row["parameter"], row["value"])),
            *(Cell(number(row[column])) for column in ("obfuscation", "recall", "gain")),
            Cell(number(row["area"]), bold=best),
        )
    return ReportTable(
        name="radar",
        title="Obfuscation, pooled recall, gain",
        headings=("Mechanism", "Setting", "Obfuscation", "Pooled recall", radar_view.GAIN, "Area"),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="Obfuscation: 1 \N{MINUS SIGN} mean sentence similarity of original and variants. Pooled recall: share "
        "of the relevant documents that are in the pool. Area: (\N{SQUARE ROOT}3 / 4)(ab + bc + ca), at most 1.299. "
        "Bold: the largest, unless its mechanism is not ranked (see the scores).",
        stubs=2,
    )


def equal_privacy(view: View) -> ReportTable:
    """Return the epsilons at which mechanisms are as similar to the original as the heuristics are."""
    frame = radar_view.equal_privacy(view)
    heuristics = frame.drop_duplicates("heuristic")
    rows: Rows = {}
    for name, own in frame.groupby("mechanism", sort=False):
        cells = (Cell(words) for words in own["words"])
        rows[own["strategy"].iloc[0], str(name)] = (Cell(str(name)), *cells)
    ranges = (
        f"{row.heuristic} {range_text(row.similarity_low, row.similarity_high)}" for row in heuristics.itertuples()
    )
    return ReportTable(
        name="equal_privacy",
        title="Epsilons of equal privacy",
        headings=("Mechanism", *(f"as {name}" for name in heuristics["heuristic"])),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption="The epsilons at which a mechanism's sentence similarity equals that of the heuristic, interpolated "
        "linearly between its settings: from where the curve first enters the heuristic's range to where it last "
        "leaves it. Similarities: " + "; ".join(ranges) + ".",
        text_columns=tuple(range(1, 1 + len(heuristics))),
    )
