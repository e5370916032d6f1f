"""Labels never lie on each other, and every setting is named."""

from hypothesis import given
from hypothesis import strategies as st

from quipukit.report.labels import Box, group, place
from quipukit.report.palette import NIGHT, PAPER, looks_of

points = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 300)), min_size=1, max_size=15)


@given(points)
def test_placed_labels_keep_apart(places: list[tuple[float, float]]) -> None:
    bounds = Box(0, 0, 300, 300)
    taken: list[Box] = []
    for x, y in places:
        box = place(x, y, 20, 8, taken, bounds, (3, 8, 15))
        if box is not None:
            assert box.within(bounds)
            assert not any(box.meets(other) for other in taken)
            taken.append(box)


def test_no_room_is_said() -> None:
    assert place(5, 5, 20, 8, [], Box(0, 0, 10, 10), (3,)) is None


def test_settings_at_one_place_share_a_label() -> None:
    places = [(0.0, 0.0), (10.0, 0.0), (10.5, 0.0), (10.0, 0.5), (50.0, 0.0), (50.5, 0.0)]
    groups = group(places, [1, 5, 10, 12.5, 20, 30], near=2)
    assert [one.text for one in groups] == ["1", "5\N{EN DASH}12.5", "20, 30"]
    assert [one.first for one in groups] == [0, 1, 4]


def luminance(color: str) -> float:
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_looks_are_seen_in_light_and_dark_and_differ_without_color() -> None:
    looks = looks_of(["CMP", "AEA", *(f"M{number}" for number in range(8))])
    for look in looks.values():
        assert contrast(look.light, PAPER) >= 3 and contrast(look.dark, NIGHT) >= 3
    assert len({look.marker for look in looks.values()}) == 10
    assert len({look.plain_marker for look in looks.values()}) == 10


def test_looks_stay_with_a_mechanism() -> None:
    assert looks_of(["TEM", "CMP"])["CMP"] == looks_of(["CMP"])["CMP"]
    many = looks_of([f"M{number}" for number in range(40)])
    assert len({(look.light, look.marker, look.dash) for look in many.values()}) == 40
