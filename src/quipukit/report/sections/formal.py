"""The formal side: guarantees, composed budgets, and what leaks anyway."""

from collections.abc import Sequence

from quipukit.report import tables
from quipukit.report.sections.base import Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View


class Formal(Section):
    """What every setting guarantees; see `quipukit.report.tables.formal`."""

    id = "formal"
    title = "Formal guarantees"
    label = "Guarantees"
    order = 70

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the guarantees, setting by setting."""
        return (tables.formal(view),)
