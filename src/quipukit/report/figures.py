"""The figures of a report as objects of matplotlib: for a notebook, or a paper with a style of its own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quipukit.errors import InputError
from quipukit.report.palette import looks_of
from quipukit.report.sections import ReportData, sections
from quipukit.report.sections.base import Drawing
from quipukit.report.views import views_of
from quipukit.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure_names(result: Result, *, measure: str | None = None) -> list[str]:
    """Return the names of the figures that a result has, as they are called in the folder of its report."""
    return list(_drawings(result, measure))


def figure(result: Result, name: str | None = None, *, measure: str | None = None) -> "Figure":
    """Return one figure of a result as a matplotlib Figure; the first of `figure_names`, where no name is given.

    A notebook shows it; ``.savefig("plane.pdf")`` writes it. ``measure`` is the utility, by default the first measured.
    """
    drawings = _drawings(result, measure)
    if not drawings:
        raise InputError("the result has no figure: nothing was judged, or there is one setting alone.")
    if name is not None and name not in drawings:
        raise InputError(f"there is no figure {name!r}; the result has {', '.join(drawings)}.")
    return drawings[name or next(iter(drawings))].draw()


def _drawings(result: Result, measure: str | None) -> Mapping[str, Drawing]:
    views = views_of([result], measure)
    looks = looks_of([mechanism for view in views for mechanism in view.mechanisms])
    report = ReportData(views, looks, False)
    chosen = [section for section in sections() if section.applies(report)]
    return {
        drawing.name if len(views) == 1 else f"{drawing.name}-{view.name}": drawing
        for view in views
        for section in chosen
        for drawing in section.drawings(view, looks)
    }
