"""Obfuscation, recall and gain: the radar of ECIR 2024, and the epsilons of equal privacy."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.report import tables
from quipukit.report.palette import Look
from quipukit.report.radar import GAIN, radar_frame
from quipukit.report.radar_figures import radars
from quipukit.report.sections.base import Drawing, ReportData, Section
from quipukit.report.table_model import ReportTable
from quipukit.report.views import View
from quipukit.specs import format_value

_RADIUS = 46.0  # of a radar, in the units of its SVG
# Obfuscation up, recall to the left, gain to the right; y points down.
_AXES = np.column_stack([np.cos(np.radians([-90, 150, 30])), np.sin(np.radians([-90, 150, 30]))]) * _RADIUS


class Radar(Section):
    """One radar per mechanism, a triangle per chosen setting."""

    id = "radar"
    title = "Obfuscation, recall and gain"
    label = "Radar"
    order = 50

    def view_tables(self, view: View) -> Sequence[ReportTable]:
        """Return the triangles and the epsilons of equal privacy as numbers."""
        return (*((tables.radar(view),) if view.judged else ()), tables.equal_privacy(view))

    def drawings(self, view: View, looks: Mapping[str, Look]) -> Iterator[Drawing]:
        """Return all radars as one figure."""
        frame = radar_frame(view)
        if len(frame):
            yield Drawing("radar", partial(radars, frame, looks))

    def values(self, report: ReportData) -> Mapping[str, Any]:
        """Return the radars of every view."""
        return {"radars": [_radars(radar_frame(view), report.looks) for view in report.views]}


def _radars(frame: pd.DataFrame, looks: Mapping[str, Look]) -> list[dict[str, Any]]:
    """Return the triangles of every mechanism as points of an SVG."""
    radars = []
    for name, rows in frame.groupby("mechanism", sort=False):
        triangles = [_triangle(row) for row in rows.to_dict("records")]
        radars.append({"name": str(name), "color": looks[str(name)].number % 10, "triangles": triangles})
    return radars


def _triangle(row: Mapping[str, Any]) -> dict[str, str]:
    lengths = np.clip([row["obfuscation"], row["recall"], row["gain"]], 0, 1)
    return {
        "points": _svg_points(lengths[:, None] * _AXES),
        "setting": f"{row['parameter']} {format_value(row['value'])}".strip(),
        "area": f"{row['area']:.3f}",
        "title": f"obfuscation {row['obfuscation']:.3f}, recall {row['recall']:.3f}, "
        f"{GAIN} {row['gain']:.3f}, area {row['area']:.3f}",
    }


def _svg_points(corners: NDArray[np.float64]) -> str:
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)
