"""In short: the best mechanism against each persona, and what can be recommended."""

from collections.abc import Mapping
from typing import Any

from quipukit.report import narrative
from quipukit.report.attacker_gaps import warning
from quipukit.report.sections.base import ReportData, Section
from quipukit.report.views import View


class Short(Section):
    """The findings as cards, one per persona."""

    id = "short"
    title = "In short"
    order = 10

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the summary of every view."""
        return {"summaries": [_summary(view) for view in report.views], "judged": report.judged}


def _summary(view: View) -> dict[str, Any]:
    return {
        "lead": narrative.lead(view),
        "warning": warning(view),
        "sweep": narrative.sweep(view),
        "findings": narrative.findings(view) if view.judged else [],
        "safest": narrative.safest(view) if not view.judged else [],
    }
