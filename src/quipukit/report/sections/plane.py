"""The risk-utility plane."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from quipukit.report.palette import Look
from quipukit.report.plane_figures import panels, plane
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.views import View


class Plane(Section):
    """Every setting as a point, drawn by the page's script; for papers an overview and a panel per mechanism."""

    id = "plane"
    title = "The risk-utility plane"
    label = "Plane"
    order = 30

    def applies_to(self, view: View) -> bool:
        """Whether there is utility to draw."""
        return view.judged

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return the overview and the panels, against each persona."""
        for label in view.labels if view.judged else ():
            name = label.lower().replace(" ", "-").replace("@", "-at-")
            yield Drawing(f"plane-{name}", partial(plane, view, label, looks))
            if view.mechanisms:
                yield Drawing(f"panels-{name}", partial(panels, view, label, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return whether a point shows an example."""
        return {"examples": report.examples}
