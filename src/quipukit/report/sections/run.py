"""What was run, from the manifest."""

from collections.abc import Mapping
from typing import Any

from quipukit.report.run_description import run_description
from quipukit.report.sections.base import ReportData, Section


class Run(Section):
    """Collection, queries, systems, noise, attack and software of every result."""

    id = "run"
    title = "What was run"
    order = 80

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the description of every run."""
        return {"runs": [(view.run, run_description(view.whole, view.queries)) for view in report.runs]}
