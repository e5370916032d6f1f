"""The radar of ECIR 2024 for papers: one per mechanism, with a triangle for every chosen setting."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from quipukit.report.drawing import FAINT, PALE, axes_at, new_figure, styled, wrapped
from quipukit.report.palette import Look
from quipukit.report.radar import GAIN
from quipukit.specs import format_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def radars(frame: pd.DataFrame, looks: Mapping[str, Look]) -> "Figure":
    """Return one radar per mechanism, with a triangle for every chosen setting."""
    with styled():
        names = list(dict.fromkeys(frame["mechanism"]))
        columns = min(5, len(names))
        rows = math.ceil(len(names) / columns)
        figure = new_figure(max(1.8 * columns, 2.2), 2.35 * rows)
        for number, name in enumerate(names):
            row, column = divmod(number, columns)
            axes = axes_at(figure, 0.1 + 1.8 * column, 0.35 + 2.35 * row, 1.6, 1.39)
            axes.set_axis_off()
            _radar(axes, frame[frame["mechanism"] == name], looks[name])
            axes.set_title(wrapped(name, 20), fontsize=8)
        return figure


def _radar(axes: "Axes", rows: pd.DataFrame, look: Look) -> None:
    angles = np.radians([90, 210, 330])
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    axes.set_aspect("equal")
    axes.set_xlim(-1.25, 1.25)
    axes.set_ylim(-0.95, 1.22)
    for radius in (0.25, 0.5, 0.75, 1.0):
        axes.fill(*(radius * circle).T, fill=False, edgecolor=PALE, linewidth=0.5)
    for (x, y), text, side in zip(circle, ("obfuscation", "recall", GAIN), ("center", "left", "right"), strict=True):
        axes.plot([0, x], [0, y], color=PALE, linewidth=0.5)
        axes.text(
            x if side == "center" else x * 1.3,
            y * 1.06 if side == "center" else y * 1.12,
            text,
            ha=side,
            va="bottom" if y > 0 else "top",
            fontsize=6,
            color=FAINT,
        )
    dashes = ("-", "--", ":", "-.")
    for turn, row in enumerate(rows.to_dict("records")):
        corners = np.clip([row["obfuscation"], row["recall"], row["gain"]], 0, 1)[:, None] * circle
        axes.fill(
            *corners.T,
            facecolor=(look.light, 0.08),
            edgecolor=look.light,
            linewidth=1.1,
            linestyle=dashes[turn % len(dashes)],
            label=f"{format_value(row['value'])}: {row['area']:.3f}",
        )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02), fontsize=6, handlelength=2.6, title="", borderaxespad=0)
