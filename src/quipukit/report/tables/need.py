"""Need leakage of every setting: what each guesser finds of what the user wants, without finding the query."""

from typing import Any

from quipukit.frames import by_parameter
from quipukit.measures.guessers import CONSENSUS
from quipukit.report.table_model import Cell, ReportTable, interval, number
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame, setting_text, sweep_text
from quipukit.report.views import View

_STRONGEST = " Strongest: of all attackers, the one whose guesses leak most at the setting; its interval holds for all."


def need(view: View) -> ReportTable:
    """Return the need leakage of every setting; no row where it was not measured."""
    frame = by_parameter(view.need, view.result.hides_more)
    settings: dict[tuple[str, str, float], dict[str, dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        key = (row["mechanism"], row["parameter"], row["value"])
        settings.setdefault(key, {})["" if row["guesser"] == CONSENSUS else row["attacker"]] = row
    rows: Rows = {}
    for (name, parameter, value), by_guesser in settings.items():
        cells = [Cell(name), Cell(setting_text(parameter, value)), _cell(by_guesser, "", "leakage")]
        for attacker in view.attackers:
            cells += [_cell(by_guesser, attacker, "leakage"), _cell(by_guesser, attacker, "similarity")]
        rows[view.result.strategies[name], f"{name}@{value}"] = tuple(cells)
    return ReportTable(
        name="need",
        title="Need leakage",
        headings=("Mechanism", "Setting", "Consensus", *(("Guess", "Similarity") * len(view.attackers))),
        column_groups=(("", 1), *((attacker, 2) for attacker in view.attackers)) if len(view.attackers) > 1 else (),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption=" ".join(
            filter(
                None,
                [
                    need_text(view),
                    "The intervals are 95 % over queries.",
                    "Similarity: the mean cosine of the best guess and the original.",
                    sweep_text(view),
                ],
            )
        ),
        stubs=2,
    )


def need_text(view: View) -> str:
    """Return what need leakage is, and how many queries it leaves out; empty where it was not measured."""
    if view.need.empty:
        return ""
    left_out = int(view.need["left_out"].max())
    counted = f" Left out, because the original itself finds nothing relevant: {left_out} of the queries."
    return (
        "Need leakage: the share of the original's nDCG@10 that an attacker reaches by fusing the lists that the "
        "engine returned for the variants (consensus), and by searching with its best guess from the log (guess)."
        f"{_STRONGEST if len(view.attackers) > 1 else ''}{counted if left_out else ''}"
    )


def _cell(by_guesser: dict[str, dict[str, Any]], guesser: str, column: str) -> Cell:
    if guesser not in by_guesser:
        return MISSING
    row = by_guesser[guesser]
    return Cell(number(row[column]), small=(interval(row["low"], row["high"]),) if column == "leakage" else ())
