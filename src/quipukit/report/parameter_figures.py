"""Utility and risk against the parameter: the traditional view, and beside it the risk that it leaves out."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quipukit.report.drawing import INK, lay_out, marker_of, new_figure, safe, styled
from quipukit.report.palette import Look
from quipukit.report.views import View
from quipukit.report.wording import risk_name
from quipukit.specs import format_value

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def by_parameter(view: View, looks: Mapping[str, Look]) -> "Figure":
    """Return utility and the risks against the parameter, one row of panels per parameter."""
    with styled():
        parameters = [name for name in dict.fromkeys(view.settings["parameter"]) if name]
        sides = [("utility", "")] * view.judged + [("risk", label) for label in view.labels]
        heights = [2.3 if name == "epsilon" else 1.6 for name in parameters]
        figure = new_figure(max(2.35 * len(sides), 4), sum(heights) + 0.5)
        grid = figure.subplots(
            len(parameters), len(sides), squeeze=False, sharey="row", gridspec_kw={"height_ratios": heights}
        )
        for row, parameter in zip(grid, parameters, strict=True):
            names = [name for name in view.mechanisms if view.parameter_of(name) == parameter]
            for axes, (side, label) in zip(row, sides, strict=True):
                _against(axes, view, names, side, label or view.labels[0], looks)
                axes.set_xlabel(safe(parameter))
                axes.set_title(
                    safe(view.measure) if side == "utility" else f"risk, {label} ({risk_name(label)})", loc="left"
                )
        handles: dict[str, Artist] = {}
        for axes in grid.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(str(label), handle)
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside lower center",
            ncols=min(6, len(handles)),
            handlelength=3.2,
        )
        lay_out(figure)
        return figure


def _against(axes: "Axes", view: View, names: Sequence[str], side: str, label: str, looks: Mapping[str, Look]) -> None:
    axes.grid(True)
    axes.set_ylim(-0.04, 1.04)
    axes.set_yticks([0, 0.5, 1] if names and view.parameter_of(names[0]) != "epsilon" else [0, 0.2, 0.4, 0.6, 0.8, 1])
    values: set[float] = set()
    for name in names:
        curve = view.curve(name, label)
        look = looks[name]
        values.update(curve["value"])
        axes.fill_between(
            curve["value"], curve[f"{side}_low"], curve[f"{side}_high"], color=look.light, alpha=0.08, linewidth=0
        )
        axes.plot(
            curve["value"],
            curve[side],
            color=look.light,
            linestyle=look.plain_dash,
            **marker_of(look),
            label=safe(name),
            clip_on=False,
        )
    for name, dashes in zip(view.references, ((5, 3), (1, 2)), strict=False):
        rows = view.curve(name, label)
        axes.axhline(float(rows[side].iloc[0]), color=INK, linewidth=0.8, dashes=dashes, label=safe(name), zorder=1)
    if min(values, default=0.0) > 0 and max(values) / min(values) > 10:
        from matplotlib.ticker import NullLocator

        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
        ticks = _sparse(sorted(values))
        axes.set_xticks(ticks, [format_value(value) for value in ticks])
    else:
        axes.set_xticks(sorted(values), [format_value(value) for value in sorted(values)])


def _sparse(values: Sequence[float]) -> list[float]:
    """Return the ticks that do not crowd a logarithmic axis."""
    kept: list[float] = []
    for value in [values[-1], *values[:-1]]:
        if all(abs(math.log(value / other)) > 0.09 * math.log(values[-1] / values[0]) for other in kept):
            kept.append(value)
    return sorted(kept)
