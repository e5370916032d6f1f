"""Limitations: what a reader must know before relying on the numbers."""

from collections.abc import Mapping
from typing import Any

from quipukit.report.run_description import limits
from quipukit.report.sections.base import ReportData, Section


class Limits(Section):
    """What the numbers do not say."""

    id = "limits"
    title = "Limitations"
    label = "Limits"
    order = 90

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the limitations of all results together."""
        return {"limits": limits([view.result for view in report.runs]), "examples": report.examples}
