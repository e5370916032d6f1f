"""By topic: which kinds of queries stay exposed although their wording is hidden."""

from collections.abc import Sequence

from quipukit.report import tables
from quipukit.report.sections.base import Section
from quipukit.report.table_model import ReportTable
from quipukit.report.topics import topics_frame
from quipukit.report.views import View


class Topics(Section):
    """Present where the collection tells the kinds of its queries, and need leakage was measured."""

    id = "topics"
    title = "By topic"
    label = "Topics"
    order = 43

    def applies_to(self, view: View) -> bool:
        """Whether there are several kinds."""
        return not topics_frame(view).empty

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the need leakage by kind."""
        return (tables.topics(view),) if self.applies_to(view) else ()
