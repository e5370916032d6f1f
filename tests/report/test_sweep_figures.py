"""Risk and utility against N for papers: the lines hold the numbers of the sweep."""

import numpy as np

from quipukit.report.palette import looks_of
from quipukit.report.sweep import chosen_curves, sweep_frame
from quipukit.report.sweep_figures import over_n
from quipukit.report.views import views_of
from tests.example_results import make_result
from tests.report.results import SMALL, only, swept


def test_lines_hold_the_numbers() -> None:
    (view,) = views_of([swept(only(make_result(), SMALL))])
    figure = over_n(view, "active", looks_of(view.mechanisms))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["CMP", "AEA"]
    (curve,) = chosen_curves(view, sweep_frame(view), "CMP", "active")
    utility, risk = figure.axes[0].lines
    np.testing.assert_allclose(utility.get_xydata(), curve[["n", "utility"]].to_numpy())
    np.testing.assert_allclose(risk.get_xydata(), curve[["n", "risk"]].to_numpy())
    assert "risk of active, R@10" in figure.get_supylabel()
