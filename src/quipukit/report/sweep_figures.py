"""Risk and utility against N for papers: one panel per mechanism, a pair of lines for every chosen setting."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quipukit.report.drawing import INK, lay_out, new_figure, safe, styled
from quipukit.report.palette import Look
from quipukit.report.sweep import chosen_curves, sweep_frame
from quipukit.report.views import View
from quipukit.report.wording import risk_name
from quipukit.specs import format_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES = ("-", "--", ":", "-.")


def over_n(view: View, label: str, looks: Mapping[str, Look]) -> "Figure":
    """Return utility (in color) and risk (in black) against N, one panel per mechanism."""
    with styled():
        frame = sweep_frame(view)
        columns = min(4, len(view.mechanisms))
        rows = math.ceil(len(view.mechanisms) / columns)
        figure = new_figure(max(2.1 * columns, 4), 2.2 * rows + 0.3)
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(view.mechanisms) :]:
            axes.set_axis_off()
        for number, (axes, name) in enumerate(zip(grid.flat, view.mechanisms, strict=False)):
            _panel(axes, view, chosen_curves(view, frame, name, label), looks[name])
            axes.set_title(safe(name), loc="left")
            axes.tick_params(labelbottom=number + columns >= len(view.mechanisms))
        utility = f"{safe(view.measure)} (color), " if view.judged else ""
        figure.supxlabel("N, variants per query", fontsize=8)
        figure.supylabel(f"{utility}risk of {safe(label)}, {risk_name(label)} (black)", fontsize=8)
        lay_out(figure)
        return figure


def _panel(axes: "Axes", view: View, curves: "list[pd.DataFrame]", look: Look) -> None:
    ns = view.whole.ns
    axes.grid(True)
    axes.set_xscale("log")
    axes.set_ylim(-0.04, 1.04)
    axes.set_xticks(ns, [str(n) for n in ns])
    axes.minorticks_off()
    for curve, dash in zip(curves, _DASHES, strict=False):
        value = format_value(float(curve["value"].iloc[0]))
        if view.judged:
            axes.plot(curve["n"], curve["utility"], color=look.light, linestyle=dash, label=value)
        axes.plot(
            curve["n"], curve["risk"], color=INK, linestyle=dash, label="" if view.judged else value, linewidth=0.8
        )
    axes.legend(title=safe(view.parameter_of(str(curves[0]["mechanism"].iloc[0]))), fontsize=6, title_fontsize=6)
