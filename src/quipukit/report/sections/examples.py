"""Examples: what was sent for a query, and what the attacker guessed."""

from quipukit.report.examples import example_queries
from quipukit.report.sections.base import ReportData, Section


class Examples(Section):
    """Chosen and shown by the page's script; left out where query texts are not wanted."""

    id = "examples"
    title = "Examples"
    order = 60

    def applies(self, report: ReportData) -> bool:
        """Whether texts may be shown, and a result holds guesses."""
        return report.examples and any(example_queries(view) for view in report.views)
