"""Frontier: the settings that no other one beats in both risk and utility."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quipukit.report import tables
from quipukit.report.frontier_chart import frontier_chart
from quipukit.report.frontier_figures import frontier_figure
from quipukit.report.palette import Look
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View


class Frontier(Section):
    """All settings in one plane against the strongest attacker, the frontier among them, and what they reveal."""

    id = "frontier"
    title = "Frontier"
    order = 35

    def applies_to(self, view: View) -> bool:
        """Whether there is utility, and anything but references."""
        return view.judged and bool(view.mechanisms)

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the settings with their places, and those of equal empirical privacy."""
        return (tables.frontier(view), tables.equal_risk(view)) if self.applies_to(view) else ()

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the plane with the frontier."""
        if self.applies_to(view):
            yield Drawing("frontier", partial(frontier_figure, view, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the chart of every view."""
        charts = [frontier_chart(view, report.looks) if self.applies_to(view) else None for view in report.views]
        return {"charts": charts}
