"""The radar for papers: a triangle per setting, as large as its table says."""

import numpy as np
import pytest

from quipukit.report.palette import looks_of
from quipukit.report.radar import radar_frame
from quipukit.report.radar_figures import radars
from quipukit.report.views import View


def test_triangles_have_the_areas_of_the_table(view: View) -> None:
    frame = radar_frame(view)
    figure = radars(frame, looks_of(view.mechanisms))
    assert [axes.get_title() for axes in figure.axes] == view.mechanisms
    for axes, (_, rows) in zip(figure.axes, frame.groupby("mechanism", sort=False), strict=True):
        drawn = [patch.get_xy()[:3] for patch in axes.patches if ":" in (patch.get_label() or "")]
        areas = [abs(np.linalg.det(corners[1:] - corners[0])) / 2 for corners in drawn]
        assert areas == pytest.approx(list(rows["area"]))
