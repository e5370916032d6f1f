"""Attackers: what each of them finds, and a warning where the first one sees less than the strongest."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from quipukit.report import tables
from quipukit.report.attacker_gaps import main_measure, warning
from quipukit.report.sections.base import ReportData, Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View


class Attackers(Section):
    """Every attacker at every setting; only where a result has several."""

    id = "attackers"
    title = "Attackers"
    order = 25

    def applies_to(self, view: View) -> bool:
        """Whether there are several attackers."""
        return len(view.result.attackers) > 1

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the table of all attackers, for whoever reads ten guesses."""
        return (tables.attackers(view, main_measure(view)),) if self.applies_to(view) else ()

    def view_frames(self, view: View) -> Mapping[str, pd.DataFrame]:
        """Return who is the strongest, for all measures of risk."""
        return {"strongest": view.strongest} if self.applies_to(view) else {}

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the warnings of every view."""
        return {"warnings": [warning(view) for view in report.views]}
