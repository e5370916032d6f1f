"""The frontier as numbers: every setting, and what keeps it off the frontier."""

from collections.abc import Mapping
from typing import Any

from quipukit.measures.frontier import MOST_POOLED
from quipukit.report.frontier import frontier_frame, main_label
from quipukit.report.table_model import Cell, ReportTable, interval, number, percent, share
from quipukit.report.tables.need import need_text
from quipukit.report.tables.points import POOLS_MUCH
from quipukit.report.tables.rows import Rows, grouped, named_frame, over_queries
from quipukit.report.views import View
from quipukit.report.wording import risk_axis, risk_name

ON_FRONTIER = "on the frontier"


def frontier(view: View) -> ReportTable:
    """Return every setting of a view, each strategy's in the order of the plan, with its place."""
    frame = frontier_frame(view)
    rows: Rows = {}
    for row in frame.to_dict("records"):
        rows[row["strategy"], row["name"]] = (
            Cell(row["name"]),
            Cell(f"{row['variants']:.4g}"),
            _mean(row, "risk"),
            _mean(row, "utility"),
            Cell(percent(row["kept"])),
            Cell(number(row["random"])),
            Cell(number(row["need"])),
            Cell(share(row["pooled_share"]), marks=POOLS_MUCH * bool(row["pools_much"])),
            Cell(place_text(row), bold=bool(row["frontier"])),
        )
    label = main_label(view)
    shown = [
        "n",
        "strategy",
        "variants",
        "name",
        "reference",
        "pools_much",
        "frontier",
        "would_be",
        "beaten_by",
        "need",
        "random",
    ]
    first = [column for column in frame.columns if column not in shown]
    return ReportTable(
        name="frontier",
        title="The frontier of settings",
        headings=(
            *("Setting", "Sent", f"Risk ({risk_name(label)})", view.measure, "Kept", "Random", "Need", "Pooled"),
            "Place",
        ),
        row_groups=grouped(rows),
        frame=named_frame(view, frame[[*first, *shown]]),
        caption=_caption(view, label),
        text_columns=(8,),
    )


def place_text(row: Mapping[str, Any]) -> str:
    """Return in words where a setting stands."""
    if row["reference"]:
        return "reference"
    if row["pools_much"]:
        return "pools too much"
    return ON_FRONTIER if row["frontier"] else f"beaten by {row['beaten_by']}"


def _mean(row: Mapping[str, Any], name: str) -> Cell:
    return Cell(number(row[name]), small=(interval(row[f"{name}_low"], row[f"{name}_high"]),))


def _caption(view: View, label: str) -> str:
    sentences = [
        f"On the frontier: no other setting has as little {risk_axis(label)} and as much utility, and is better in "
        "one of the two. Beaten by: the setting of the frontier that does, of several the one that finds most. Risk "
        "and utility are means with 95 % intervals over queries, for one setting at a time: where intervals overlap, "
        "other queries may place the settings differently.",
        over_queries(view),
        "Sent: queries sent per query asked. Kept: the share of what the original finds among as many documents. "
        "Random: what random words find among as many documents, where that is known.",
        f"{need_text(view)} Need: the larger of the two." if len(view.need) else "",
        f"{POOLS_MUCH} more than {percent(MOST_POOLED)} of the collection is pooled: the setting does not count.",
    ]
    return " ".join(filter(None, sentences))
