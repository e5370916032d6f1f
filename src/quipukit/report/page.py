"""The page: one HTML file that needs nothing but itself."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quipukit.report.chart_data import chart_data, script_safe
from quipukit.report.palette import NIGHT, PAPER
from quipukit.report.sections.base import Context, ReportData, Section, SectionTables
from quipukit.report.table_model import typeset
from quipukit.report.wording import against, join
from quipukit.terminal import visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def page(report: ReportData, contents: Sequence[tuple[Section, SectionTables]]) -> str:
    """Return the report as HTML; ``contents`` are its sections, each with its tables."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    environment = page_environment()
    rendered = [
        {
            "id": section.id,
            "title": section.title,
            "label": section.label or section.title,
            "views": _views_of(section, report),
            "body": section.render(Context(report, tables, environment)),
        }
        for section, tables in contents
    ]
    return environment.get_template("report.html").render(
        title=join(list(dict.fromkeys(view.result.name for view in report.runs))),
        sections=rendered,
        views=report.views,
        colors=sorted({(look.number % 10, look.light, look.dark) for look in report.looks.values()}),
        paper=PAPER,
        night=NIGHT,
        data=Markup(script_safe(_shown(chart_data(report.views, report.looks, report.examples)))),
        plotly=Markup(get_plotlyjs()),
    )


@functools.cache
def page_environment() -> "Environment":
    """Return the Jinja environment of the page: everything is escaped, control characters are shown.

    It is made once: compiling its templates takes longer than filling in a small page.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("quipukit.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) else _shown(value),
    )
    environment.filters["typeset"] = typeset
    environment.filters["prose"] = _prose
    environment.filters["against"] = against
    return environment


def _views_of(section: Section, report: ReportData) -> str:
    """Return the numbers of the views that a section has something to say about."""
    return " ".join(str(number) for number, view in enumerate(report.views) if section.applies_to(view))


def _shown(value: Any) -> Any:
    """Return a value with visible control characters: a browser would obey those that change the text direction."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_shown(name): _shown(one) for name, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value


def _prose(text: str) -> "Markup":
    """Return a sentence as HTML; text between backquotes becomes code."""
    from markupsafe import Markup, escape

    parts = (escape(part) for part in typeset(visible(text)).split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))
