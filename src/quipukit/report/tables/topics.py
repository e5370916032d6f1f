"""Need leakage by topic: which kinds of queries stay exposed, setting by setting."""

from typing import Any

from quipukit.report.table_model import Cell, ReportTable, interval, number
from quipukit.report.tables.need import need_text
from quipukit.report.tables.rows import MISSING, Rows, grouped, named_frame, setting_text, sweep_text
from quipukit.report.topics import topics_frame
from quipukit.report.views import View

FEW_TOPICS = 10  # queries of a kind, below which its mean says little
SMALL = "\N{DEGREE SIGN}"


def topics(view: View) -> ReportTable:
    """Return the need leakage of every setting by kind of topic, the most exposed kind first; no row without kinds."""
    frame = topics_frame(view)
    kinds = {str(kind): int(own.max()) for kind, own in frame.groupby("kind", sort=False)["queries"]}
    cells: dict[tuple[str, str, float], dict[str, dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        cells.setdefault((row["mechanism"], row["parameter"], row["value"]), {})[row["kind"]] = row
    rows: Rows = {}
    for setting in view.settings[["mechanism", "parameter", "value"]].itertuples(index=False, name=None):
        by_kind = cells.get(setting)
        if by_kind is None:
            continue
        name, parameter, value = setting
        known = [row["leakage"] for row in by_kind.values() if row["queries"] >= FEW_TOPICS]
        most = max(known, default=0.0)
        rows[view.result.strategies[name], f"{name}@{value}"] = (
            *(Cell(name), Cell(setting_text(parameter, value))),
            *(_cell(by_kind[kind], most) if kind in by_kind else MISSING for kind in kinds),
        )
    heads = (f"{kind} ({count}){SMALL * (count < FEW_TOPICS)}" for kind, count in kinds.items())
    return ReportTable(
        name="topics",
        title="Need leakage by topic",
        headings=("Mechanism", "Setting", *heads),
        row_groups=grouped(rows),
        frame=named_frame(view, frame),
        caption=_caption(view, kinds),
        stubs=2,
    )


def _cell(row: dict[str, Any], most: float) -> Cell:
    bold = row["queries"] >= FEW_TOPICS and row["leakage"] == most > 0
    return Cell(number(row["leakage"]), bold=bold, small=(interval(row["low"], row["high"]),))


def _caption(view: View, kinds: dict[str, int]) -> str:
    small = [kind for kind, count in kinds.items() if count < FEW_TOPICS]
    sentences = [
        need_text(view),
        "The larger of the two, with 95 % intervals that allow for this choice. Kinds of topics are those of the "
        "collection, the most exposed first, with how many of their queries count.",
        f"{SMALL} fewer than {FEW_TOPICS} queries: too few to tell kinds apart." if small else "",
        "Bold: the most exposed kind of a row, of those with enough queries." if len(small) < len(kinds) else "",
        sweep_text(view),
    ]
    return " ".join(filter(None, sentences))
