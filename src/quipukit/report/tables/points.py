"""Every setting as numbers: risk, utility, the share kept of what the original finds, and the size of the pool."""

from collections.abc import Mapping
from typing import Any

from quipukit.measures.frontier import MOST_POOLED
from quipukit.report.table_model import Cell, ReportTable, interval, number, percent, share
from quipukit.report.tables.rows import Rows, caution_text, grouped, named_frame, over_queries, setting_text, sweep_text
from quipukit.report.views import View

POOLS_MUCH = "\N{DOUBLE DAGGER}"

_KEPT = (
    "Original: what the unchanged query finds among as many documents as the setting pools; kept: the share of it that "
    "the setting finds. Pooled: documents per query, and their share of the collection. "
    f"{POOLS_MUCH} more than {percent(MOST_POOLED)} of the collection is pooled, so that even random words find "
    "relevant documents: do not rely on this utility."
)


def points(view: View) -> ReportTable:
    """Return risk, and utility where there is one, of every setting."""
    settings: dict[tuple[str, float], dict[str, dict[str, Any]]] = {}
    for row in view.points.to_dict("records"):
        settings.setdefault((row["mechanism"], row["value"]), {})[row["label"]] = row
    rows: Rows = {}
    for (name, value), by_label in settings.items():
        first = next(iter(by_label.values()))
        cells = [Cell(name), Cell(setting_text(first["parameter"], value))]
        if view.judged:
            cells += [_mean(first, "utility"), *_kept(first)]
        cells += [_mean(by_label[label], "risk") for label in view.labels]
        rows[view.result.strategies[name], f"{name}@{value}"] = tuple(cells)
    return ReportTable(
        name="points",
        title="All settings" if view.judged else "Risk of all settings",
        headings=(
            *("Mechanism", "Setting"),
            *([view.measure, "Original", "Kept", "Pooled"] if view.judged else []),
            *view.labels,
        ),
        row_groups=grouped(rows),
        frame=named_frame(view, view.points),
        caption=_caption(view),
        stubs=2,
    )


def _caption(view: View) -> str:
    sentences = [
        ("Mean utility, and mean risk against each persona" if view.judged else "Mean risk")
        + ", with 95 % intervals over queries: risk over all queries sent, utility over all judged ones. The intervals "
        "hold for any number of queries, for one setting at a time. The settings of a mechanism are in order from most "
        "to least private.",
        sweep_text(view),
        *([over_queries(view), _KEPT] if view.judged else []),
        caution_text(view),
    ]
    return " ".join(filter(None, sentences))


def _mean(row: Mapping[str, Any], name: str) -> Cell:
    return Cell(number(row[name]), small=(interval(row[f"{name}_low"], row[f"{name}_high"]),))


def _kept(row: Mapping[str, Any]) -> list[Cell]:
    """Return what the original finds among as many documents, the share kept of it, and how many these are."""
    marks = POOLS_MUCH * bool(row["pooled_share"] > MOST_POOLED)
    pooled = Cell(number(row["pooled"], 0), marks=marks, small=(share(row["pooled_share"]),))
    return [Cell(number(row["ceiling"])), Cell(percent(row["kept"])), pooled]
