"""The frontier for papers: every setting as a point, colored by what it reveals of the need."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.report.drawing import FAINT, INK, axes_at, new_figure, safe, styled, wrapped
from quipukit.report.frontier import frontier_frame, main_label, named_settings
from quipukit.report.labels import Box, along, around, nearest, needs_line, place
from quipukit.report.palette import NEED, NEED_UNKNOWN, Look
from quipukit.report.views import View
from quipukit.report.wording import risk_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE, _LETTERS = 4.1, 6.5  # inches, points
_REFERENCES = ("1", "2", "3", "4")  # thin ones: mechanisms have others


def frontier_figure(view: View, looks: Mapping[str, Look]) -> "Figure":
    """Return all settings in the plane of risk and utility, with the frontier as steps and its members named."""
    frame = frontier_frame(view)
    with styled():
        names = [*view.mechanisms, *view.references]
        height = max(4.75, 0.24 * len(names) + 1.9)
        figure = new_figure(7.0, height)
        axes = axes_at(figure, 0.6, 0.12, _SIDE, _SIDE)
        top = highest(frame)
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03 * top, 1.03 * top)
        axes.grid(True)
        axes.set_xlabel(risk_axis(main_label(view)))
        axes.set_ylabel(f"utility ({safe(view.measure)})")
        steps = frontier_steps(frame)
        axes.plot(*zip(*steps, strict=True), color=INK, linewidth=1.1, zorder=2) if steps else None
        for name in view.mechanisms:
            _settings(axes, frame[frame["mechanism"] == name], looks[name])
        for name, marker in zip(view.references, _REFERENCES, strict=False):
            own = frame[frame["mechanism"] == name]
            axes.plot(own["risk"], own["utility"], marker, color=INK, markersize=7, zorder=4, clip_on=False)
        _legend(figure, view, looks, frame)
        if frame["need"].notna().any():
            _color_bar(figure, height)
        _label(axes, frame, steps)
        return figure


def highest(frame: pd.DataFrame) -> float:
    """Return the utility at the upper end of the axis: a tenth above the highest, and no more than 1."""
    most = float(frame["utility"].max()) if len(frame) else 1.0
    return min(1.0, max(0.1, 1.1 * most))


def frontier_steps(frame: pd.DataFrame) -> list[tuple[float, float]]:
    """Return the corners of the line that bounds what can be reached: up at each member, level to the next.

    >>> rows = {"risk": [0.3, 0.1], "utility": [0.6, 0.4], "frontier": [True, True]}
    >>> frontier_steps(pd.DataFrame(rows))
    [(0.1, 0.0), (0.1, 0.4), (0.3, 0.4), (0.3, 0.6), (1.0, 0.6)]
    """
    own = frame[frame["frontier"]].sort_values(["risk", "utility"], kind="stable")
    steps: list[tuple[float, float]] = []
    level = 0.0
    for risk, utility in zip(own["risk"].astype(float), own["utility"].astype(float), strict=True):
        steps += [(risk, level), (risk, utility)]
        level = utility
    return [*steps, (1.0, level)] if steps else []


def _settings(axes: "Axes", own: pd.DataFrame, look: Look) -> None:
    for row in own.to_dict("records"):
        color = need_color(row["need"])
        axes.plot(
            [row["risk"]],
            [row["utility"]],
            marker=look.plain_marker,
            markersize=7.5 if look.plain_marker == "*" else 5.5,
            markerfacecolor="white" if row["pools_much"] else color,
            markeredgecolor=color if row["pools_much"] else "white",
            markeredgewidth=1.1 if row["pools_much"] else 0.5,
            zorder=3.5 if row["frontier"] else 3,
            clip_on=False,
        )


def need_color(need: float) -> str:
    """Return the color of a need leakage between 0 and 1; gray where it is not known."""
    if need != need:
        return NEED_UNKNOWN
    from matplotlib.colors import to_hex

    return str(to_hex(_color_map()(float(np.clip(need, 0, 1)))))


def _color_map() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("need", list(NEED))


def _legend(figure: "Figure", view: View, looks: Mapping[str, Look], frame: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    def mark(marker: str, label: str, hollow: bool = False) -> Line2D:
        fill = "white" if hollow else INK
        return Line2D([], [], linestyle="none", marker=marker, color=INK, markerfacecolor=fill, label=label)

    handles = [mark(looks[name].plain_marker, wrapped(name, 28)) for name in view.mechanisms]
    handles += [mark(m, wrapped(name, 28)) for m, name in zip(_REFERENCES, view.references, strict=False)]
    handles.append(Line2D([], [], color=INK, linewidth=1.1, label="frontier"))
    if frame["pools_much"].any():
        handles.append(mark("o", "hollow: pools more than 2 %\nof the collection, not counted", hollow=True))
    width, height = figure.get_size_inches()
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=((0.75 + _SIDE) / width, 1 - 0.05 / height), alignment="left"
    )


def _color_bar(figure: "Figure", height: float) -> None:
    axes = axes_at(figure, 1.0 + _SIDE, height - 0.85, 1.4, 0.11)
    axes.imshow(np.linspace(0, 1, 256)[None], aspect="auto", cmap=_color_map(), extent=(0, 1, 0, 1))
    axes.set_yticks([])
    axes.set_xticks([0, 0.5, 1])
    axes.set_title("color: need leakage", loc="left", fontsize=7, pad=3)


def _label(axes: "Axes", frame: pd.DataFrame, steps: list[tuple[float, float]]) -> None:
    """Write the names beside their points; lines lead to those that stand far away or could be another's."""
    scale = axes.figure.dpi / 72
    bounds = axes.get_window_extent()
    limits = Box(bounds.x0 + 1, bounds.y0 + 1, bounds.x1, bounds.y1 + 3 * scale)

    def pixels(places: Any) -> list[tuple[float, float]]:
        return [(float(x), float(y)) for x, y in axes.transData.transform(np.asarray(places, float).reshape(-1, 2))]

    spots = pixels(frame[["risk", "utility"]])
    taken = around(spots, 3 * scale) + along(pixels(steps), 3 * scale, 0.7 * scale)
    taken += around(pixels(frame.loc[frame["reference"], ["risk", "utility"]]), 4.5 * scale)
    for number, name in named_settings(frame):
        (x, y), text = spots[number], safe(name)
        written = axes.text(0, 0, text, fontsize=_LETTERS)
        width, height = written.get_window_extent().width + 2 * scale, 1.1 * _LETTERS * scale
        written.remove()
        radii = [radius * scale for radius in (4, 7, 11, 16, 22, 30, 40, 52)]
        box = place(x, y, width, height, taken, limits, radii)
        if box is None:
            continue
        taken.append(box)
        to_data = axes.transData.inverted().transform
        center = to_data(((box.left + box.right) / 2, (box.bottom + box.top) / 2))
        if needs_line(box, (x, y), spots, 8 * scale):
            end = to_data(nearest(box, x, y))
            axes.plot(*zip(to_data((x, y)), end, strict=True), color=FAINT, linewidth=0.5, zorder=2.5)
        axes.text(
            float(center[0]),
            float(center[1]),
            text,
            fontsize=_LETTERS,
            color=INK,
            ha="center",
            va="center_baseline",
            zorder=5,
            bbox={"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )
