"""Radar and equal privacy against closed forms."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.report.radar import area, crossing, equal_privacy, radar_frame
from quipukit.report.views import views_of
from tests.example_results import EPSILONS, make_result
from tests.report.results import only, with_similarity

unit = st.floats(0, 1)


@given(unit, unit, unit)
def test_area_is_that_of_the_triangle(a: float, b: float, c: float) -> None:
    corners = [
        (length * math.cos(angle), length * math.sin(angle))
        for length, angle in zip((a, b, c), (0, 2 * math.pi / 3, 4 * math.pi / 3), strict=True)
    ]
    (x1, y1), (x2, y2), (x3, y3) = corners
    assert area(a, b, c) == pytest.approx(abs((x2 - x1) * (y3 - y1) - (x3 - x1) * (y2 - y1)) / 2, abs=1e-12)


def test_radar_takes_the_usual_epsilons_and_all_settings_of_heuristics() -> None:
    frame = radar_frame(views_of([make_result()])[0])
    chosen = frame.groupby("mechanism")["value"].apply(list).to_dict()
    assert chosen["CMP"] == [10.0, 12.5, 15.0]
    assert chosen["AEA"] == [5.0, 4.0, 3.0]  # from most to least hidden
    assert "Identity" not in chosen


def test_radar_without_the_usual_epsilons_takes_the_ends_and_the_middle() -> None:
    result = only(make_result(), {"CMP": (1.0, 5.0, 20.0, 25.0, 50.0), "Identity": (0.0,)})
    assert list(radar_frame(views_of([result])[0])["value"]) == [1.0, 20.0, 50.0]


def test_radar_axes() -> None:
    result = make_result()
    row = radar_frame(views_of([result])[0]).iloc[0]
    own = result.scores[(result.scores["mechanism"] == "CMP") & (result.scores["value"] == 10.0)]
    means = own[own["side"] == "utility"].groupby("measure")["score"].mean()
    settings = result.settings.set_index(["mechanism", "value"])
    assert row["obfuscation"] == pytest.approx(1 - settings.loc[("CMP", 10.0), "sentence_similarity"])
    assert (row["recall"], row["gain"]) == (pytest.approx(means["SetR"]), pytest.approx(means["nDCG@10"]))


def test_no_radar_without_similarity() -> None:
    result = with_similarity(make_result(mechanisms=("CMP", "Identity")), "CMP", [math.nan] * len(EPSILONS))
    assert radar_frame(views_of([result])[0]).empty


# --- equal privacy ------------------------------------------------------------------------------------------------


@given(st.floats(0.1, 0.9), st.floats(0.1, 0.9))
def test_on_a_straight_line_the_inverse_is_exact(one: float, other: float) -> None:
    low, high = sorted((one, other))
    met = crossing([1, 3, 11, 21], [0.0, 0.1, 0.5, 1.0], low, high)
    assert met.first == pytest.approx(1 + 20 * low) and met.last == pytest.approx(1 + 20 * high)
    assert not (met.gaps or met.from_below or met.to_above)


@pytest.mark.parametrize(
    ("heights", "band", "words"),
    [
        ([0.0, 0.5, 1.0], (0.25, 0.25), "6"),
        ([0.3, 0.5, 1.0], (0.1, 0.2), "below 1"),
        ([0.0, 0.1, 0.2], (0.5, 0.6), "above 21"),
        ([0.2, 0.3, 0.1], (0.5, 0.6), "never"),
        ([0.8, 0.7, 0.9], (0.5, 0.6), "never"),
        ([0.4, 0.5, 1.0], (0.1, 0.75), "1 or below to 16"),
        ([0.0, 0.5, 0.6], (0.25, 0.9), "6 to 21 or above"),
        ([0.4, 0.4, 0.4], (0.4, 0.4), "1 or below to 21 or above"),
        ([0.0, 1.0, 0.0], (0.5, 0.5), "6 to 16, with gaps"),
        ([0.0, 1.0, 0.0], (0.5, 1.0), "6 to 16"),
    ],
)
def test_every_way_to_meet_a_band(heights: list[float], band: tuple[float, float], words: str) -> None:
    assert str(crossing([1, 11, 21], heights, *band)) == words


def test_one_setting_meets_or_does_not() -> None:
    assert str(crossing([10], [0.5], 0.4, 0.6)) == "10 or below to 10 or above"
    assert str(crossing([10], [0.5], 0.6, 0.7)) == "never"


@given(st.lists(unit, min_size=2, max_size=8), unit, unit)
def test_the_ends_lie_in_the_band_and_nothing_outside_them_does(heights: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    values = [float(number) for number in range(len(heights))]
    met = crossing(values, heights, low, high)

    def at(value: float) -> float:
        number = min(int(value), len(heights) - 2)
        return heights[number] + (value - number) * (heights[number + 1] - heights[number])

    grid = [step / 64 for step in range(64 * (len(heights) - 1) + 1)]
    inside = [value for value in grid if low < at(value) < high]
    if met.first is None or met.last is None:
        assert not inside
        return
    assert low - 1e-9 <= at(met.first) <= high + 1e-9 and low - 1e-9 <= at(met.last) <= high + 1e-9
    assert all(met.first - 1e-9 <= value <= met.last + 1e-9 for value in inside)


def test_equal_privacy_of_a_built_curve() -> None:
    result = with_similarity(make_result(), "CMP", [epsilon / 50 for epsilon in EPSILONS])
    result = with_similarity(result, "AEA", [0.5, 0.3, 0.4])
    frame = equal_privacy(views_of([result])[0]).set_index(["mechanism", "heuristic"])
    row = frame.loc[("CMP", "AEA")]
    assert (row["first"], row["last"]) == (pytest.approx(15.0), pytest.approx(25.0))
    assert row["words"] == "15 to 25"
    assert set(frame.index.get_level_values("heuristic")) == {"AEA", "FEA"}
    assert set(frame.index.get_level_values("mechanism")) == {"CMP", "VickreyMhl", "CusText", "TEM"}
