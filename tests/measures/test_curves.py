"""Areas and volumes of many curves at once, end points, and which curves are not ranked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import InputError
from quipukit.measures.curves import anchored, area, diagonal_share, hypervolume, ordered, signed_areas, why_unranked
from quipukit.measures.quipu import quipu_score

UNIT = st.floats(0, 1, width=32)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=2, max_size=6), st.floats(0.1, 1))
def test_the_hypervolume_of_many_curves_is_that_of_each(points: list[tuple[float, float]], top: float) -> None:
    r, u = np.array(points).T
    both = hypervolume(np.stack([r, r[::-1]]), np.stack([u, u[::-1]]), [top, 1.0])
    expected = [quipu_score(points, u0=top).hypervolume, quipu_score(points).hypervolume]
    assert both == pytest.approx(expected, abs=1e-12)
    assert hypervolume(r, u, 0.0) == 0


def test_many_curves_at_once_are_the_curves_one_by_one() -> None:
    rng = np.random.default_rng(4)
    r, u = rng.random((5, 7)), rng.random((5, 7))
    for order in ("parameter", "risk", "diagonal"):
        one_by_one = [quipu_score(np.column_stack(pair), order).value for pair in zip(r, u, strict=True)]
        assert area(*ordered(r, u, order)) == pytest.approx(one_by_one, abs=1e-12)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1, max_size=8))
def test_the_signed_areas_make_the_area(points: list[tuple[float, float]]) -> None:
    r, u = np.array(points).T
    above, below = signed_areas(r, u)
    assert 2 * (above + below) == pytest.approx(float(area(r, u)), abs=1e-12)


def test_ties_are_ordered_by_the_points_and_not_by_their_rows() -> None:
    r, u = np.array([0.5, 0.5, 0.1]), np.array([0.9, 0.2, 0.4])
    for order in ("risk", "diagonal"):
        one, other = ordered(r, u, order), ordered(r[::-1], u[::-1], order)
        assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()
    assert ordered(r, u, "parameter")[1].tolist() == [0.9, 0.2, 0.4]


def test_end_points() -> None:
    r, u = np.array([0.2]), np.array([0.5])
    assert anchored(r, u, None, None) == (r, u)
    assert [part.tolist() for part in anchored(r, u, "corners", None)] == [[0, 0.2, 1], [0, 0.5, 1]]
    assert [part.tolist() for part in anchored(r, u, "original", 0.7)] == [[0, 0.2, 1], [0, 0.5, 0.7]]
    with pytest.raises(InputError, match="pass u0=UTILITY") as fault:
        anchored(r, u, "original", None)
    assert fault.value.arguments == ("anchor", "u0")
    with pytest.raises(InputError, match="anchor must be None"):
        anchored(r, u, "ends", None)  # type: ignore[arg-type]


def test_why_a_curve_is_not_ranked() -> None:
    assert why_unranked([0.4, 0.4], [0.2, 0.2]) == "single point"
    assert why_unranked([0.0, 0.09], [0.0, 0.1]) == "narrow" and why_unranked([0.0, 0.11], [0.0, 0.1]) == ""
    assert why_unranked([0.8, 0.1], [0.8, 0.1]) == "runs backwards"
    assert diagonal_share(0, 2**0.5) == pytest.approx(1)
