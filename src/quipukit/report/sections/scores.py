"""Scores: Table 1, the references, and the utility within a risk budget."""

from collections.abc import Mapping, Sequence

import pandas as pd

from quipukit.report import tables
from quipukit.report.sections.base import ReportData, Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View


class Scores(Section):
    """QuIPU and hypervolume of every mechanism. Table 1 covers all views, so the section is never hidden."""

    id = "scores"
    title = "Scores"
    order = 20

    def applies(self, report: ReportData) -> bool:
        """Whether any view has utility."""
        return report.judged

    def tables(self, report: ReportData) -> Sequence[ReportTable]:
        """Return Table 1 and the references."""
        return (tables.table_1(report.views), tables.references(report.views))

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the companions."""
        return (tables.companions(view),) if view.judged else ()

    def view_frames(self, view: View) -> Mapping[str, pd.DataFrame]:
        """Return the paired comparisons behind the marks of Table 1."""
        return {"comparisons": view.comparisons.drop(columns="label")} if view.judged and len(view.comparisons) else {}
