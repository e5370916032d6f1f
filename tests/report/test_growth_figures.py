"""Risk against the variants seen, for papers: the lines hold the numbers."""

import numpy as np

from quipukit.report.growth import growth_curves, growth_frame
from quipukit.report.growth_figures import over_seen
from quipukit.report.palette import looks_of
from quipukit.report.views import views_of
from tests.example_results import make_result
from tests.report.results import SMALL, grown, only, two_attackers


def test_lines_and_bands_hold_the_numbers() -> None:
    (view,) = views_of([grown(two_attackers(only(make_result(), SMALL)))])
    figure = over_seen(view, "R@10", looks_of(view.mechanisms))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["CMP", "AEA"]
    curves = growth_curves(view, growth_frame(view), "CMP", "R@10")
    lines, bands = figure.axes[0].lines, figure.axes[0].collections
    assert len(lines) == 2 * len(curves) == 6 and len(bands) == 3
    for place, curve in enumerate(curves):
        first, strongest = lines[2 * place : 2 * place + 2]
        np.testing.assert_allclose(first.get_xydata(), curve["QuIA"][["seen", "risk"]].to_numpy())
        np.testing.assert_allclose(strongest.get_xydata(), curve["strongest"][["seen", "risk"]].to_numpy())
        ends = bands[place].get_paths()[0].vertices[:, 1]
        assert ends.min() == curve["strongest"]["low"].min() and ends.max() == curve["strongest"]["high"].max()
    assert figure.get_supylabel() == "risk (R@10)"
    assert "color: the strongest attacker with its 95 % interval; black: QuIA" in figure.get_supxlabel()
