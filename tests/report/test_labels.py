"""Labels never overlap, and every setting has one."""

from hypothesis import given
from hypothesis import strategies as st

from quipukit.report.labels import Box, group, nearest, needs_line, place

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


def test_a_line_where_a_label_is_far_or_could_be_anothers() -> None:
    box = Box(10, 0, 20, 4)
    assert nearest(box, 0, 2) == (10, 2) and nearest(box, 30, 9) == (20, 4) and nearest(box, 12, 3) == (12, 3)
    assert not needs_line(box, (8, 2), [(8, 2), (40, 2)], far=5)
    assert needs_line(box, (8, 2), [(8, 2), (22, 2)], far=5), "as near to another point"
    assert needs_line(box, (4, 2), [(4, 2)], far=5), "farther than that"
