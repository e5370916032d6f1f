"""The frontier as an SVG of the page: what stands where, in the units of its view box."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from quipukit.report.frontier import frontier_frame, main_label, named_settings
from quipukit.report.frontier_figures import frontier_steps, highest
from quipukit.report.labels import Box, along, around, nearest, needs_line, place
from quipukit.report.palette import Look
from quipukit.report.table_model import interval, number, share, typeset
from quipukit.report.tables.frontier import place_text
from quipukit.report.views import View
from quipukit.report.wording import risk_axis

WIDTH, HEIGHT = 600.0, 400.0
_LETTER, _LINE, _RADIUS = 6.8, 12.0, 5.0


def frontier_chart(view: View, looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return the points, the steps, the names and the axes of a view's frontier."""
    frame = frontier_frame(view)
    top = highest(frame)

    def at(risk: float, utility: float) -> tuple[float, float]:
        return WIDTH * float(risk), HEIGHT * (1 - float(utility) / top)

    steps = [at(*corner) for corner in frontier_steps(frame)]
    rows: list[dict[str, Any]] = frame.to_dict("records")
    places = [at(row["risk"], row["utility"]) for row in rows]
    ticks = [tick for tick in np.arange(0, 1.01, 0.1 if top <= 0.5 else 0.2).round(1) if tick <= top]
    return {
        "x_axis": risk_axis(main_label(view)),
        "y_axis": f"utility ({view.measure})",
        "x_ticks": [(f"{WIDTH * tick:.1f}", f"{tick:.1f}") for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)],
        "y_ticks": [(f"{at(0, tick)[1]:.1f}", f"{tick:.1f}") for tick in ticks],
        "steps": " ".join(f"{x:.1f},{y:.1f}" for x, y in steps),
        "points": [
            {
                "x": f"{x:.1f}",
                "y": f"{y:.1f}",
                "path": marker_path("asterisk" if row["reference"] else looks[row["mechanism"]].marker),
                "kind": "reference" if row["reference"] else "hollow" if row["pools_much"] else "full",
                "need": _need_class(row["need"]),
                "mix": _mix(row["need"]),
                "title": point_text(row, view.measure),
            }
            for row, (x, y) in zip(rows, places, strict=True)
        ],
        "names": _names(frame, places, steps),
        "legend": [{"name": name, "path": marker_path(looks[name].marker)} for name in view.mechanisms],
        "hollow": bool(frame["pools_much"].any()),
        "needs": bool(frame["need"].notna().any()),
    }


def point_text(row: Mapping[str, Any], measure: str) -> str:
    """Return the numbers of a setting, for whoever points at it."""
    parts = [
        f"{row['name']}: risk {number(row['risk'])} {interval(row['risk_low'], row['risk_high'])}",
        f"{measure} {number(row['utility'])} {interval(row['utility_low'], row['utility_high'])}",
        *([f"need leakage {number(row['need'])}"] if row["need"] == row["need"] else []),
        *([f"pools {share(row['pooled_share'])}"] if row["pooled_share"] == row["pooled_share"] else []),
        place_text(row),
    ]
    return typeset("; ".join(parts))


def marker_path(marker: str, radius: float = _RADIUS) -> str:
    """Return the outline of a marker around the origin.

    >>> marker_path("square", 1)
    'M-0.8,-0.8L0.8,-0.8L0.8,0.8L-0.8,0.8Z'
    """
    if marker == "circle":
        return f"M{-radius:g},0A{radius:g},{radius:g} 0 1 1 {radius:g},0A{radius:g},{radius:g} 0 1 1 {-radius:g},0Z"
    if marker == "asterisk":  # of references: no mechanism has it
        ends = [(radius * np.cos(angle), radius * np.sin(angle)) for angle in np.pi * np.arange(3) / 3 + np.pi / 2]
        return "".join(f"M{-x:.2f},{-y:.2f}L{x:.2f},{y:.2f}" for x, y in ends)
    if marker in ("x", "cross"):
        arm = radius * (0.8 if marker == "x" else 1)
        if marker == "x":
            return f"M{-arm:g},{-arm:g}L{arm:g},{arm:g}M{-arm:g},{arm:g}L{arm:g},{-arm:g}"
        return f"M{-arm:g},0L{arm:g},0M0,{-arm:g}L0,{arm:g}"
    if marker == "square":
        half = 0.8 * radius
        corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    else:
        count, turn = {
            "diamond": (4, 0.0),
            "triangle-up": (3, 0.0),
            "triangle-down": (3, np.pi),
            "pentagon": (5, 0.0),
            "hexagon": (6, 0.0),
            "star": (10, 0.0),
        }[marker]
        angles = turn - np.pi / 2 + 2 * np.pi * np.arange(count) / count
        reach = np.where((np.arange(count) % 2 == 1) & (marker == "star"), 0.45, 1.15) * radius
        corners = list(zip(reach * np.cos(angles), reach * np.sin(angles), strict=True))
    return "M" + "L".join(f"{round(x, 2) + 0.0:g},{round(y, 2) + 0.0:g}" for x, y in corners) + "Z"


def _need_class(need: float) -> str:
    return "unknown" if need != need else "low" if need < 0.5 else "high"


def _mix(need: float) -> str:
    """Return how much of the class's outer color goes into a point, as a percentage; the rest is the middle one."""
    return "100%" if need != need else f"{100 * abs(2 * min(max(need, 0.0), 1.0) - 1):.0f}%"


def _names(
    frame: pd.DataFrame, places: list[tuple[float, float]], steps: list[tuple[float, float]]
) -> list[dict[str, str]]:
    """Return the names of `named_settings` where they fit, each with a line where it needs one."""
    taken = around(places, 1.2 * _RADIUS) + along(steps, 6, 1)
    limits = Box(-8, -14, WIDTH + 14, HEIGHT + 4)
    written = []
    for row, text in named_settings(frame):
        x, y = places[row]
        box = place(x, y, _LETTER * len(text), _LINE, taken, limits, (7, 11, 16, 22, 30))
        if box is not None:
            taken.append(box)
            middle = f"{(box.left + box.right) / 2:.1f}"
            end = nearest(box, x, y) if needs_line(box, (x, y), places, 14) else None
            line = "" if end is None else f"M{x:.1f},{y:.1f}L{end[0]:.1f},{end[1]:.1f}"
            written.append({"x": middle, "y": f"{box.top - 3:.1f}", "text": text, "line": line})
    return written
