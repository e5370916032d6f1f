"""The frontier for papers: points, steps, names that keep apart, colors by need leakage."""

from dataclasses import replace

import numpy as np

from quipukit.report.frontier import frontier_frame
from quipukit.report.frontier_figures import frontier_figure, frontier_steps, highest, need_color
from quipukit.report.palette import NEED, NEED_UNKNOWN, looks_of
from quipukit.report.views import View, views_of


def test_points_steps_and_names(view: View) -> None:
    figure = frontier_figure(view, looks_of(view.mechanisms))
    axes, scale = figure.axes
    frame = frontier_frame(view)
    steps = frontier_steps(frame)
    np.testing.assert_allclose(axes.lines[0].get_xydata(), steps)
    assert [tuple(line.get_xydata()[0]) for line in axes.lines[1 : 1 + len(frame)]] == [
        tuple(row) for row in frame[["risk", "utility"]].to_numpy()
    ]
    names = [text.get_text() for text in axes.texts]
    assert set(names) == {*frame.loc[frame["frontier"], "name"], "Identity", "Random"}
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    assert scale.get_title(loc="left") == "color: need leakage" and axes.get_ylim()[1] < 0.72


def test_what_pools_too_much_is_hollow(small: View) -> None:
    result = small.result
    (much,) = views_of([replace(result, settings=result.settings.assign(pooled_share=0.05))])
    full, hollow = (frontier_figure(one, looks_of(one.mechanisms)) for one in (small, much))
    assert full.axes[0].lines[1].get_markerfacecolor() != "white"
    assert hollow.axes[0].lines[0].get_markerfacecolor() == "white", "and there is no line of a frontier"
    texts = [text.get_text() for text in hollow.legends[0].get_texts()]
    assert any("hollow" in text for text in texts)
    assert not any("hollow" in text.get_text() for text in full.legends[0].get_texts())


def test_without_need_there_is_no_scale(small: View) -> None:
    (without,) = views_of([replace(small.result, need=small.result.need.iloc[:0])])
    assert len(frontier_figure(without, looks_of(without.mechanisms)).axes) == 1
    assert need_color(float("nan")) == NEED_UNKNOWN
    assert (need_color(0.0), need_color(1.0), need_color(7.0)) == (NEED[0], NEED[2], NEED[2])


def test_the_axis_ends_above_the_highest(small: View) -> None:
    frame = frontier_frame(small)
    assert 1.05 * frame["utility"].max() < highest(frame) <= 1.0
    assert highest(frame.assign(utility=0.99)) == 1.0 and highest(frame.iloc[:0]) == 1.0
    assert frontier_steps(frame.iloc[:0]) == []
