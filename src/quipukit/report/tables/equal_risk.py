"""Equal empirical privacy: the setting of each mechanism at which the strongest attacker finds the same share."""

import math
from collections.abc import Mapping
from typing import Any

from quipukit.measures.equal_privacy import ALWAYS, NEVER, TARGETS
from quipukit.measures.resampling import FEW
from quipukit.report.equal_risk import equal_risk_frame
from quipukit.report.frontier import main_label
from quipukit.report.table_model import Cell, ReportTable, interval, number
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame, over_queries, setting_text, sweep_text
from quipukit.report.views import View
from quipukit.report.wording import risk_axis, risk_name

MOVED = "\N{TILDE OPERATOR}"
_MUCH = 0.05  # by which the rising curve may miss a mean without a mark


def equal_risk(view: View) -> ReportTable:
    """Return the setting and the utility of every mechanism at each target."""
    frame = equal_risk_frame(view)
    rows: Rows = {}
    for name, own in frame.groupby("mechanism", sort=False):
        cells = [cell for row in own.to_dict("records") for cell in (setting_cell(row), _utility(row))]
        rows[view.result.strategies[str(name)], str(name)] = (Cell(str(name)), *cells)
    label = main_label(view)
    return ReportTable(
        name="equal_risk",
        title="Settings of equal empirical privacy",
        headings=("Mechanism", *(("Setting", view.measure) * len(TARGETS))),
        column_groups=tuple((f"{risk_name(label)} = {target:g}", 2) for target in TARGETS),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption=_caption(view, label),
        text_columns=tuple(range(1, 2 * len(TARGETS) + 1, 2)),
    )


def setting_cell(row: Mapping[str, Any]) -> Cell:
    """Return the setting at which a target is reached, with its interval; or in words that it is not."""
    ends = (("most hidden", "first"), ("least hidden", "last"))
    if row["reached"] in (NEVER, ALWAYS):
        which, end = ends[row["reached"] == ALWAYS]
        where = setting_text(row["parameter"], row[end])
        return Cell(row["reached"], small=(f"{number(row[f'{end}_risk'])} at {where}, the {which}",))
    low, high = row["value_low"], row["value_high"]
    edges = sorted((row["first"], row["last"]))
    between = (_end(low, edges), _end(high, edges))
    text = f"{row['parameter']} {row['value']:.3g}" if row["parameter"] else "only setting"
    marks = MOVED * (row["misfit"] > _MUCH)
    return Cell(text, marks=marks, small=(f"[{', '.join(between)}]",) if row["parameter"] else ())


def _end(value: float, edges: list[float]) -> str:
    if not math.isinf(value):
        return f"{value:.3g}"
    return f"below {edges[0]:g}" if value < 0 else f"above {edges[1]:g}"


def _utility(row: Mapping[str, Any]) -> Cell:
    if row["reached"] in (NEVER, ALWAYS):
        return MISSING
    return Cell(number(row["utility"]), small=(interval(row["utility_low"], row["utility_high"]),))


def _caption(view: View, label: str) -> str:
    asked, _ = view.queries
    sentences = [
        f"The setting of each mechanism at which the {risk_axis(label)} is the same, and the utility there: an axis "
        "on which epsilons are comparable. Interpolated between neighboring settings (over the logarithm of epsilon "
        "and k) after the risk was made to rise from the most to the least hidden setting (isotonic regression).",
        f"Never: the risk is higher even at the most hidden setting that was measured. {ALWAYS.capitalize()}: it is "
        "lower even at the least hidden one.",
        "In brackets, 95 % intervals from draws of the queries, in each of which the strongest attacker was chosen "
        "again; below or above: the interval leaves the measured settings. Intervals of utility are over the draws "
        "that reach the risk.",
        f"{MOVED} some mean risk lies more than {_MUCH:g} from the rising curve.",
        over_queries(view),
        f"With fewer than {FEW} queries these intervals are too narrow." if asked < FEW else "",
        sweep_text(view),
    ]
    return " ".join(filter(None, sentences))
