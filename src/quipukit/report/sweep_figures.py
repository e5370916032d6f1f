"""Risk and utility against N for papers: one panel per mechanism, a pair of lines for every chosen setting."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quipukit.report.drawing import DASHES, INK, axis_of_counts, panels, safe, styled
from quipukit.report.palette import Look
from quipukit.report.sweep import chosen_curves, sweep_frame
from quipukit.report.views import View
from quipukit.report.wording import risk_name
from quipukit.specs import format_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def over_n(view: View, label: str, looks: Mapping[str, Look]) -> "Figure":
    """Return utility (in color) and risk (in black) against N, one panel per mechanism."""
    frame = sweep_frame(view)

    def draw(axes: "Axes", name: str) -> None:
        axis_of_counts(axes, view.whole.ns)
        _lines(axes, view, chosen_curves(view, frame, name, label), looks[name])

    with styled():
        utility = f"{safe(view.measure)} (color), " if view.judged else ""
        y = f"{utility}risk of {safe(label)}, {risk_name(label)} (black)"
        return panels(view.mechanisms, draw, "N, variants per query", y)


def _lines(axes: "Axes", view: View, curves: "list[pd.DataFrame]", look: Look) -> None:
    for curve, dash in zip(curves, DASHES, strict=False):
        value = format_value(float(curve["value"].iloc[0]))
        if view.judged:
            axes.plot(curve["n"], curve["utility"], color=look.light, linestyle=dash, label=value)
        axes.plot(
            curve["n"], curve["risk"], color=INK, linestyle=dash, label="" if view.judged else value, linewidth=0.8
        )
    axes.legend(title=safe(view.parameter_of(str(curves[0]["mechanism"].iloc[0]))), fontsize=6, title_fontsize=6)
