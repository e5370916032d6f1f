"""The risk-utility plane for papers: an overview, and one panel per mechanism with all its settings labeled."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.report.drawing import FAINT, INK, PALE, axes_at, marker_of, new_figure, safe, styled, wrapped
from quipukit.report.labels import Box, along, around, group, place
from quipukit.report.palette import Look
from quipukit.report.table_model import typeset
from quipukit.report.views import View
from quipukit.report.wording import risk_axis, scores_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CORNERS = (
    (0.0, 0.0, "No Utility"),
    (1.0, 1.0, "No Privacy"),
    (0.0, 1.0, "Optimal"),
    (1.0, 0.0, "Trash"),
)


def plane(view: View, label: str, looks: Mapping[str, Look]) -> "Figure":
    """Return all curves against one persona in one plane, with as many labels as fit."""
    with styled():
        # A square of 4.1 inches, and space next to it for all names, the longest included.
        names = [*view.mechanisms, *view.references]
        width, height = 5.7 + 0.055 * min(32, max(25, *map(len, names))), max(4.75, 0.52 * len(names) + 0.5)
        figure = new_figure(width, height)
        axes = axes_at(figure, 0.55, 0.1, 4.1, 4.1)
        corners = _frame(axes, view, label)
        for name in view.mechanisms:
            _curve(axes, view.curve(name, label), looks[name], label=_legend(view, name, label))
        _references(axes, view, label)
        figure.legend(
            loc="upper left",
            bbox_to_anchor=(4.75 / width, 1 - 0.02 / height),
            title="QuIPU, hypervolume (HV)",
            alignment="left",
            handlelength=3.2,
            labelspacing=0.7,
        )
        boxes = [_extent(text) for text in corners] + _markers(axes, view, label, names)
        for name in view.mechanisms:
            boxes += _label(axes, view.curve(name, label), looks[name], boxes, radii=(3, 6), size=6)
        return figure


def panels(view: View, label: str, looks: Mapping[str, Look]) -> "Figure":
    """Return one plane per mechanism with all its settings labeled, the other mechanisms in gray behind."""
    with styled():
        columns = min(4 if len(view.mechanisms) > 6 else 3, len(view.mechanisms))
        rows = math.ceil(len(view.mechanisms) / columns)
        width, height = max(0.55 + 2.2 * columns, 3.6), 0.05 + 2.68 * rows + 0.5
        figure = new_figure(width, height)
        for turn, name in enumerate(view.mechanisms):
            row, column = divmod(turn, columns)
            axes = axes_at(figure, 0.55 + 2.2 * column, 0.6 + 2.68 * row, 2.05, 2.05)
            _frame(axes, view, label, small=True)
            for other in view.mechanisms:
                if other != name:
                    rows_of = view.curve(other, label)
                    axes.plot(rows_of["risk"], rows_of["utility"], color=PALE, linewidth=0.8, zorder=1)
            _curve(axes, view.curve(name, label), looks[name])
            _references(axes, view, label, small=True)
            axes.set_title(_legend(view, name, label), loc="left", linespacing=1.25)
            last = turn + columns >= len(view.mechanisms)
            axes.tick_params(labelbottom=last, labelleft=column == 0)
            curve = view.curve(name, label)
            boxes = [*_markers(axes, view, label, [name, *view.references]), *_line(axes, curve)]
            _label(axes, curve, looks[name], boxes, radii=(3, 6, 10, 15, 21, 28, 36), size=6, label_all=True)
        marks = zip(("+", "\N{MULTIPLICATION SIGN}"), view.references, strict=False)
        legend = "".join(f"      {mark} {safe(name)}" for mark, name in marks)
        text = f"{risk_axis(label)}{legend}"
        figure.supxlabel(text, fontsize=8, x=0.5 + 0.2 / width, y=0.08 / height, va="bottom")
        figure.supylabel(f"utility ({safe(view.measure)})", fontsize=8, x=0.08 / width, ha="left")
        return figure


def _frame(axes: "Axes", view: View, label: str, small: bool = False) -> list[Any]:
    axes.set_xlim(-0.06, 1.06)
    axes.set_ylim(-0.06, 1.06)
    axes.set_aspect("equal")
    ticks = [0, 0.5, 1] if small else [0, 0.2, 0.4, 0.6, 0.8, 1]
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.grid(True)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.9, dashes=(5, 3), zorder=1.5)
    if small:
        return []
    axes.set_xlabel(risk_axis(label))
    axes.set_ylabel(f"utility ({safe(view.measure)})")
    drawn = []
    for x, y, text in CORNERS:
        axes.plot([x], [y], marker="o", markersize=4, markerfacecolor="white", markeredgecolor=FAINT, zorder=2)
        right = 1 if x == 0 else -1
        drawn.append(
            axes.annotate(
                text,
                (x, y),
                (7 * right, 0),
                textcoords="offset points",
                ha="left" if x == 0 else "right",
                va="center",
                color=FAINT,
                fontsize=7,
            )
        )
    drawn.append(
        axes.annotate(
            "risk-utility boundary",
            (0.76, 0.76),
            (0, -5),
            textcoords="offset points",
            rotation=45,
            rotation_mode="anchor",
            transform_rotates_text=True,
            ha="center",
            va="top",
            color=FAINT,
            fontsize=6.5,
        )
    )
    return drawn


def _curve(axes: "Axes", curve: pd.DataFrame, look: Look, label: str = "") -> None:
    axes.plot(
        curve["risk"],
        curve["utility"],
        color=look.light,
        linestyle=look.plain_dash,
        **marker_of(look),
        label=label,
        zorder=3,
        clip_on=False,
    )


def _references(axes: "Axes", view: View, label: str, small: bool = False) -> None:
    for name, marker in zip(view.references, ("+", "x", "1", "2"), strict=False):
        rows = view.curve(name, label)
        axes.plot(
            rows["risk"],
            rows["utility"],
            linestyle="none",
            marker=marker,
            markersize=5 if small else 7,
            markeredgewidth=1.1,
            color=INK,
            label=None if small else safe(name),
            zorder=4,
            clip_on=False,
        )


def _label(
    axes: "Axes",
    curve: pd.DataFrame,
    look: Look,
    boxes: Sequence[Box],
    radii: Sequence[float],
    size: float,
    label_all: bool = False,
) -> list[Box]:
    """Label the points with their values, those farther away with a line; ``label_all`` leaves none out."""
    scale = axes.figure.dpi / 72
    bounds = axes.get_window_extent()
    frame = Box(bounds.x0 + 1, bounds.y0 + 1, bounds.x1 + 2 * scale, bounds.y1)
    taken = list(boxes)
    added = []
    for spot in group(_pixels(axes, curve), list(curve["value"]), near=4 * scale):
        width, height = 0.64 * size * len(spot.text) * scale, 1.05 * size * scale
        box = place(spot.x, spot.y, width, height, taken, frame, [radius * scale for radius in radii])
        if box is None and label_all:
            box = place(spot.x, spot.y, width, height, [], frame, [radii[0] * scale])
        if box is None:
            continue
        taken.append(box)
        added.append(box)
        to_axes = axes.transData.inverted()
        center = to_axes.transform(((box.left + box.right) / 2, (box.bottom + box.top) / 2))
        if math.hypot((box.left + box.right) / 2 - spot.x, (box.bottom + box.top) / 2 - spot.y) > width / 2 + 8 * scale:
            start = to_axes.transform((spot.x, spot.y))
            axes.plot(*zip(start, center, strict=True), color=FAINT, linewidth=0.4, zorder=2.5)
        axes.text(
            float(center[0]),
            float(center[1]),
            spot.text,
            fontsize=size,
            color=look.light,
            ha="center",
            va="center_baseline",
            zorder=5,
            bbox={"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )
    return added


def _markers(axes: "Axes", view: View, label: str, names: Iterable[str]) -> list[Box]:
    """Return the boxes that the markers cover, in pixels."""
    half = 2.6 * axes.figure.dpi / 72
    return around(_pixels(axes, pd.concat([view.curve(name, label) for name in names])), half)


def _line(axes: "Axes", curve: pd.DataFrame) -> list[Box]:
    scale = axes.figure.dpi / 72
    return along(_pixels(axes, curve), 3 * scale, 0.7 * scale)


def _pixels(axes: "Axes", curve: pd.DataFrame) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in axes.transData.transform(curve[["risk", "utility"]].to_numpy())]


def _extent(text: Any) -> Box:
    bounds = text.get_window_extent()
    return Box(bounds.x0, bounds.y0, bounds.x1, bounds.y1)


def _legend(view: View, name: str, label: str) -> str:
    row = view.score_of(name, label)
    if row is None:
        return wrapped(name, 32)
    heading = name if row["rankable"] else f"{name} (not ranked)"
    return "\n".join([wrapped(heading, 32), *map(typeset, scores_text(row))])
