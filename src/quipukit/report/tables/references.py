"""The references: Identity, Random, and what the original query finds among as many documents."""

from collections.abc import Sequence

import pandas as pd

from quipukit.report.table_model import Cell, ReportTable, RowGroup, number
from quipukit.report.tables.rows import MISSING, by_mechanism, column_groups, named_frame, range_text
from quipukit.report.views import View
from quipukit.settings import ORIGINAL


def references(views: Sequence[View]) -> ReportTable:
    """Return risk and utility of Identity and Random, and what the original finds among as many documents."""
    judged = [view for view in views if view.judged]
    frames = [
        named_frame(view, view.points[view.points["mechanism"].isin(view.references)].drop(columns=["parameter"]))
        for view in judged
    ]
    row_groups = by_mechanism(judged, _cells, references=True)
    if any(len(view.ceilings) for view in judged):
        row = (Cell("Original, as many documents"), *(cell for view in judged for cell in _deeper(view)))
        row_groups = (*row_groups, RowGroup("", (row,)))
    return ReportTable(
        name="references",
        title="References",
        headings=("Mechanism", *(head for view in judged for head in (view.measure, *view.labels))),
        column_groups=column_groups(judged, lambda view: 1 + len(view.labels)),
        row_groups=row_groups,
        frame=pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(),
        caption=_caption(judged),
    )


def _cells(view: View, name: str) -> list[Cell]:
    curves = [view.curve(name, label) for label in view.labels]
    utility = Cell(number(float(curves[0]["utility"].iloc[0]))) if len(curves[0]) else MISSING
    return [utility, *(Cell(number(float(rows["risk"].iloc[0]))) if len(rows) else MISSING for rows in curves)]


def _deeper(view: View) -> list[Cell]:
    """Return the cells of the original query over pools as large as those of the settings."""
    ceilings = view.ceilings["ceiling"]
    utility = Cell(range_text(ceilings.min(), ceilings.max())) if len(ceilings) else MISSING
    return [utility, *[MISSING] * len(view.labels)]


def _caption(judged: Sequence[View]) -> str:
    names = {name for view in judged for name in view.references}
    sentences = [
        "Utility, and risk against each persona.",
        "Identity sends the query unchanged and pools one list of documents, as in the paper." * (ORIGINAL in names),
        "Random sends random words: what the pool finds by chance." * ("Random" in names),
        "Each is a single point, so it has no score.",
        "Original, as many documents: what the unchanged query finds among as many documents as a setting pools (or "
        "all it finds, where its list is shorter), over all settings; the shares called kept are relative to this."
        * any(len(view.ceilings) for view in judged),
    ]
    return " ".join(filter(None, sentences))
