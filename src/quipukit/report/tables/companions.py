"""The companions of QuIPU: the best utility within a risk budget."""

from quipukit.measures.quipu import BUDGETS
from quipukit.report.table_model import DASH, Cell, ReportTable, number
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame
from quipukit.report.views import View


def companions(view: View) -> ReportTable:
    """Return the best utility within each risk budget; like the hypervolume, it ignores the order of the settings."""
    names = [f"best_{budget:g}" for budget in BUDGETS]
    best = view.scores.groupby("label")[names].max()

    def cells(label: str, name: str) -> list[Cell]:
        row = view.score_of(name, label)
        if row is None:
            return [MISSING] * len(names)
        return [
            Cell(number(row[column]), bold=bool(row["rankable"]) and row[column] == best[column][label])
            for column in names
        ]

    rows: Rows = {}
    for name in view.mechanisms:
        numbers = (cell for label in view.labels for cell in cells(label, name))
        rows[view.result.strategies[name], name] = (Cell(name), *numbers)
    keys = ["strategy", "mechanism", "attacker", "persona", "measure"]
    return ReportTable(
        name="companions",
        title="Utility within a risk budget",
        headings=("Mechanism", *([f"U@{budget:g}" for budget in BUDGETS] * len(view.labels))),
        column_groups=tuple((label, len(names)) for label in view.labels),
        row_groups=grouped(rows),
        frame=named_frame(view, view.scores[[*keys, "hypervolume", *names, "anchored", "u0", "note"]]),
        caption=f"U@0.05: the best {view.measure} among the settings with a risk of at most 0.05; {DASH} where no "
        "setting is that safe. Bold: the best of a column, unless its mechanism is not ranked. The best setting is "
        "chosen by its means on these queries, so expect less utility and more risk on others; `quipukit recommend` "
        "says what can be certified.",
    )
