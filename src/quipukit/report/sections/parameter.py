"""The effect of the parameter: utility and risk at each of its values."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from quipukit.report import tables
from quipukit.report.palette import Look
from quipukit.report.parameter_figures import by_parameter
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View


class Parameter(Section):
    """Utility beside risk against the parameter, and every setting as numbers."""

    id = "parameter"
    title = "Effect of the parameter"
    label = "Parameter"
    order = 40

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return every setting as numbers, and its need leakage where that was measured."""
        return (tables.points(view), tables.need(view))

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the panels of utility and risk, where any mechanism has a parameter."""
        if any(view.settings["parameter"] != ""):
            yield Drawing("parameter", partial(by_parameter, view, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return whether there is utility beside risk."""
        return {"judged": report.judged}
