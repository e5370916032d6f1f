"""The frontier on the page: where points stand, their words, and outlines for every marker."""

import re

import pytest

from quipukit.report.frontier import frontier_frame, named_settings
from quipukit.report.frontier_chart import HEIGHT, WIDTH, frontier_chart, marker_path, point_text
from quipukit.report.frontier_figures import highest
from quipukit.report.palette import looks_of
from quipukit.report.views import View


def test_points_stand_where_their_numbers_are(small: View) -> None:
    chart = frontier_chart(small, looks_of(small.mechanisms))
    frame = frontier_frame(small)
    for point, row in zip(chart["points"], frame.to_dict("records"), strict=True):
        assert float(point["x"]) == pytest.approx(WIDTH * row["risk"], abs=0.06)
        assert float(point["y"]) == pytest.approx(HEIGHT * (1 - row["utility"] / highest(frame)), abs=0.06)
        assert point["title"].startswith(f"{row['name']}: risk {row['risk']:.3f}")
        assert point["kind"] == ("reference" if row["reference"] else "full")
    assert {name["text"] for name in chart["names"]} == {text for _, text in named_settings(frame)}
    middle = next(p for p, name in zip(chart["points"], frame["name"], strict=True) if name == "CMP@10")
    need = frame.set_index("name").loc["CMP@10", "need"]
    assert (middle["need"], middle["mix"]) == ("low", f"{100 * (1 - 2 * need):.0f}%") and need < 0.5


def test_words_of_a_point(small: View) -> None:
    (row,) = frontier_frame(small).query("name == 'AEA@4'").to_dict("records")
    text = point_text(row, "nDCG@10")
    assert "need leakage" in text and "pools 0.4" in text and text.endswith("beaten by AEA@3")
    assert "need" not in point_text({**row, "need": float("nan")}, "nDCG@10")


def test_every_look_has_an_outline() -> None:
    looks = looks_of([f"M{number}" for number in range(40)])
    paths = {look.marker: marker_path(look.marker) for look in looks.values()}
    assert len(paths) == 10 == len(set(paths.values()))
    assert all(re.fullmatch(r"M[-\d.,AMLZ ]+", path) for path in paths.values())
