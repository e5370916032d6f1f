"""Section: one part of the report's page, with the tables and figures that belong to it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from quipukit.report.palette import Look
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ReportData:
    """What sections are made from: the views, how each mechanism looks, and whether query texts may be shown."""

    views: Sequence[View]
    looks: Mapping[str, Look]
    examples: bool = True

    @property
    def judged(self) -> bool:
        """Whether any view has utility."""
        return any(view.judged for view in self.views)

    @property
    def runs(self) -> list[View]:
        """Return one view per result: the views of several systems share one run."""
        return list({id(view.result): view for view in self.views}.values())


@dataclass(frozen=True)
class Drawing:
    """A figure for papers: the name of its files, and the function that draws it."""

    name: str
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class SectionTables:
    """The tables of a section that have rows, by name: those of all views together, and those of each view."""

    shared: Mapping[str, ReportTable]
    views: Sequence[Mapping[str, ReportTable]]

    @classmethod
    def of(cls, section: "Section", report: ReportData) -> "SectionTables":
        """Compute the tables of a section."""
        return cls(_by_name(section.tables(report)), [_by_name(section.view_tables(view)) for view in report.views])


def _by_name(tables: Iterable[ReportTable]) -> dict[str, ReportTable]:
    return {table.name: table for table in tables if not table.empty}


@dataclass(frozen=True, eq=False)
class Context:
    """What a section is rendered with."""

    report: ReportData
    tables: SectionTables
    environment: "Environment"

    def fill(self, template: "Template", values: Mapping[str, Any]) -> "Markup":
        """Return the template filled with the values and, beside them,

        ``views``, the views of the report; ``tables``, the section's tables of all views together, by name;
        ``view_tables``, a list of those of each view; and the macro ``table(table, number, tall)``, where ``number`` is
        that of the view (from 0) and ``tall`` gives a long table a scroll bar. An element with the attribute
        ``data-view="0"`` is shown while the reader looks at view 0.
        """
        from markupsafe import Markup

        macro = getattr(self.environment.get_template("table.html").module, "table")  # noqa: B009
        names = {
            "views": self.report.views,
            "tables": self.tables.shared,
            "view_tables": self.tables.views,
            "table": macro,
        }
        return Markup(template.render({**names, **values}))


class Section:
    """A section of the page. Derive a class, set ``id`` and ``title``, and override what the section needs.

    ``label`` is its name in the navigation (the title where empty), ``order`` its place on the page: the built-in
    sections have 10 (In short) to 90 (Limitations). ``template`` is the text of a Jinja template, or a Jinja template
    that the plugin has loaded from its own package; without one, the section shows its tables.

    The text of a query may be shown only where ``report.examples`` is true, and never in a table or a figure.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    label: ClassVar[str] = ""
    order: ClassVar[float] = 65
    template: "ClassVar[str | Template]" = ""

    def applies_to(self, view: View) -> bool:
        """Whether the section has something to say about a view; it is hidden while the reader looks at another."""
        return True

    def applies(self, report: ReportData) -> bool:
        """Whether the section is part of the page at all."""
        return any(self.applies_to(view) for view in report.views)

    def tables(self, report: ReportData) -> Sequence[ReportTable]:
        """Return the section's tables that cover all views together."""
        return ()

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the section's tables of one view."""
        return ()

    def view_frames(self, view: View) -> Mapping[str, pd.DataFrame]:
        """Return what is written as CSV only, by the name of the file."""
        return {}

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterable[Drawing]:
        """Return the section's figures of one view, for ``figures/``."""
        return ()

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return what the template needs beside the tables."""
        return {}

    def render(self, context: Context) -> "Markup":
        """Return the section's HTML below its heading."""
        import jinja2

        if isinstance(self.template, jinja2.Template):
            template = self.template
        elif self.template:
            template = context.environment.from_string(self.template)
        else:
            template = context.environment.select_template([f"sections/{self.id}.html", "tables.html"])
        return context.fill(template, self.values(context.report))
