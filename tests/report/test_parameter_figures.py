"""Utility and risk against the parameter, for papers: one row per parameter, one column per side."""

import numpy as np

from quipukit.report.palette import looks_of
from quipukit.report.parameter_figures import by_parameter
from quipukit.report.views import View, views_of
from tests.example_results import make_result


def test_a_row_per_parameter_and_a_panel_per_side(view: View) -> None:
    figure = by_parameter(view, looks_of(view.mechanisms))
    assert len(figure.axes) == 3 * 4, "epsilon, level, window; utility and three risks"
    titles = [axes.get_title(loc="left") for axes in figure.axes[:4]]
    assert titles == ["nDCG@10", "risk, lazy (P@1)", "risk, active (R@10)", "risk, motivated (RR)"]
    line = next(line for line in figure.axes[2].lines if line.get_label() == "CMP")
    np.testing.assert_allclose(line.get_xydata(), view.curve("CMP", "active")[["value", "risk"]].to_numpy())
    assert figure.axes[0].get_xscale() == "log" and figure.axes[4].get_xscale() == "linear"


def test_risk_only_has_no_utility() -> None:
    (bare,) = views_of([make_result(judged=False, mechanisms=("AEA",))])
    figure = by_parameter(bare, looks_of(bare.mechanisms))
    assert [axes.get_title(loc="left")[:4] for axes in figure.axes] == ["risk"] * 3
