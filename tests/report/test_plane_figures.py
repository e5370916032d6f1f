"""The plane for papers: every curve where its numbers are, every setting labeled in its panel."""

import numpy as np

from quipukit.report.palette import looks_of
from quipukit.report.plane_figures import CORNERS, panels, plane
from quipukit.report.views import View


def test_curves_lie_where_their_numbers_are(view: View) -> None:
    (axes,) = plane(view, "active", looks_of(view.mechanisms)).axes
    drawn = {line.get_label().split("\n")[0].split(" (")[0]: line.get_xydata() for line in axes.lines}
    for name in (*view.mechanisms, *view.references):
        np.testing.assert_allclose(drawn[name], view.curve(name, "active")[["risk", "utility"]].to_numpy())
    assert "active persona (R@10)" in axes.get_xlabel() and "nDCG@10" in axes.get_ylabel()
    assert {name for *_, name in CORNERS} <= {text.get_text() for text in axes.texts}


def test_every_setting_has_a_label_in_its_panel(view: View) -> None:
    figure = panels(view, "lazy", looks_of(view.mechanisms))
    assert len(figure.axes) == len(view.mechanisms)
    for axes, name in zip(figure.axes, view.mechanisms, strict=True):
        assert axes.get_title(loc="left").startswith(name)
        labels = [text.get_text() for text in axes.texts]
        assert labels and len(set(labels)) == len(labels)
    aea = figure.axes[view.mechanisms.index("AEA")]
    assert any("3" in text.get_text() for text in aea.texts) and any("5" in text.get_text() for text in aea.texts)
