"""The searches agree with a float64 brute force, exactly, whatever the data, the blocks and the threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.vectors import nearest
from tests.examples import examples, slowly

# --- the brute force --------------------------------------------------------------------------------------------


def squares(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Squared distances in float64, coordinate after coordinate: one fixed order of rounding."""
    total = np.zeros(len(matrix))
    for k in range(matrix.shape[1]):
        gap = point[k] - matrix[:, k].astype(np.float64)
        total += gap * gap
    return total


def halves(matrix: np.ndarray) -> np.ndarray:
    return np.square(matrix.astype(np.float64)).sum(axis=1) / 2


def brute_two(matrix, bases, base_of, directions, radii):
    found = np.full((*radii.shape, 2), -1, np.int64)
    distance = np.full((*radii.shape, 2), np.inf)
    for i, e in np.ndindex(*radii.shape):
        gaps = squares(matrix, bases[base_of[i]] + radii[i, e] * directions[i])
        order = np.argsort(gaps, kind="stable")[:2]
        found[i, e, : len(order)] = order
        distance[i, e, : len(order)] = np.sqrt(gaps[order])
    return found, distance


def brute_k(matrix, points, k):
    found = np.full((len(points), k), -1, np.int64)
    for i, point in enumerate(points):
        order = np.argsort(squares(matrix, point), kind="stable")[:k]
        found[i, : len(order)] = order
    return found


def unit(points):
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(norms > 0, norms, 1)


def agree(matrix, bases, base_of, directions, radii) -> None:
    matrix = np.ascontiguousarray(matrix, np.float32)
    arguments = (bases.astype(np.float64), np.asarray(base_of, np.int64), directions.astype(np.float64), radii)
    found, distance = nearest.nearest_two(matrix, halves(matrix), *arguments)
    wanted, wanted_distance = brute_two(matrix, *arguments)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(distance, wanted_distance)


# --- data that a careless search gets wrong ------------------------------------------------------------------------


def random_rows(rng, count, dimension):
    return rng.standard_normal((count, dimension))


def duplicated(rng, count, dimension):
    """Every row several times, the copies far apart in the order."""
    few = rng.standard_normal((max(1, count // 5), dimension))
    return few[rng.integers(len(few), size=count)]


def all_equal(rng, count, dimension):
    """More equal candidates than are kept: the search has to compare them all again."""
    return np.tile(rng.standard_normal(dimension), (count, 1))


def nearly_equal(rng, count, dimension):
    """Rows that differ in the last bits of a float32: beyond the accuracy of any float32 score."""
    row = rng.standard_normal(dimension).astype(np.float32)
    return np.nextafter(np.tile(row, (count, 1)), rng.choice([-9, 9], (count, dimension)).astype(np.float32))


def on_a_grid(rng, count, dimension):
    """Whole numbers: many exact ties."""
    return rng.integers(-1, 2, (count, dimension))


def one_huge(rng, count, dimension):
    """One row whose norm drowns every other score's accuracy."""
    rows = rng.standard_normal((count, dimension))
    rows[count // 2] *= 1e6
    return rows


def far_from_zero(rng, count, dimension):
    """A cloud far from the origin: |w|^2 is large and the differences small."""
    return 1e3 + rng.standard_normal((count, dimension))


def with_zeros(rng, count, dimension):
    rows = rng.standard_normal((count, dimension))
    rows[::2] = 0
    return rows


def wide_range(rng, count, dimension):
    return rng.standard_normal((count, dimension)) * 10.0 ** rng.uniform(-6, 6, (count, 1))


KINDS = [
    random_rows,
    duplicated,
    all_equal,
    nearly_equal,
    on_a_grid,
    one_huge,
    far_from_zero,
    with_zeros,
    wide_range,
]


@pytest.mark.parametrize("dimension", [1, 2, 17, *slowly(300)])
@pytest.mark.parametrize("kind", KINDS)
def test_nearest_two(kind, dimension):
    rng = np.random.default_rng(dimension)
    matrix = np.asarray(kind(rng, 700, dimension), np.float32)
    # Bases are words, as in use, and one point that is none; radii from epsilon 1e6 to 1e-6 and none at all.
    bases = np.vstack([matrix[rng.integers(700, size=5)].astype(np.float64), matrix.mean(axis=0, dtype=np.float64)])
    radii = dimension / np.array([1e6, 1e3, 30.0, 5.0, 1.0, 0.1, 1e-6]) * rng.uniform(0.5, 1.5, (12, 1))
    radii = np.hstack([radii, np.zeros((12, 1))])
    base_of, directions = rng.integers(6, size=12), unit(rng.standard_normal((12, dimension)))
    agree(matrix, bases, base_of, directions, radii)
    # A single radius takes another way through the search.
    for alone in range(radii.shape[1]):
        agree(matrix, bases, base_of, directions, radii[:, alone : alone + 1])


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_two_with_little_room_for_candidates(kind, monkeypatch):
    # Almost every search is then crowded, and the pruning of candidates that the bar has overtaken is at work.
    monkeypatch.setattr(nearest, "_KEPT", 3)
    rng = np.random.default_rng(3)
    matrix = np.asarray(kind(rng, 400, 8), np.float32)
    for sweep in (1, 3):
        radii = rng.uniform(0, 9, (30, sweep))
        agree(matrix, matrix[:4], rng.integers(4, size=30), unit(rng.standard_normal((30, 8))), radii)


@pytest.mark.parametrize("count", [1, 2, 3, 127, 128, 129, 511, 512, 513, 1025])
def test_nearest_two_at_the_edges_of_tiles_and_strips(count):
    rng = np.random.default_rng(count)
    matrix = rng.standard_normal((count, 6)).astype(np.float32)
    # The last word of the vocabulary must be found as well as the first.
    bases = matrix[[0, -1]]
    agree(matrix, bases, np.arange(20) % 2, unit(rng.standard_normal((20, 6))), rng.uniform(0, 0.5, (20, 2)))


@pytest.mark.parametrize("rows", [1, 511, 512, 513, 1100])
def test_nearest_two_at_the_edges_of_blocks(rows):
    rng = np.random.default_rng(rows)
    matrix = rng.standard_normal((150, 4)).astype(np.float32)
    base_of = rng.integers(150, size=rows)
    agree(matrix, matrix, base_of, unit(rng.standard_normal((rows, 4))), rng.gamma(4, 1, (rows, 1)))


@pytest.mark.parametrize("points", [1, 64, 65])
@pytest.mark.parametrize("words", [513, 1024, 2100])
def test_words_that_are_divided_among_threads_are_found_as_if_they_were_not(monkeypatch, words, points):
    monkeypatch.setattr(nearest, "workers", lambda: 3)
    monkeypatch.setattr(nearest, "_SHARE", 1)
    rng = np.random.default_rng(words + points)
    matrix = rng.standard_normal((words, 4)).astype(np.float32)
    matrix[-40:] = matrix[:40]  # equal ones in the first part and in the last: the first wins
    matrix[[7, -1]] *= 100  # and long ones in both
    base_of = rng.integers(40, size=points)
    agree(matrix, matrix, base_of, unit(rng.standard_normal((points, 4))), rng.gamma(4, 0.02, (points, 3)))


def test_one_word_has_no_second():
    matrix = np.array([[2.0, 1.0]], np.float32)
    found, distance = nearest.nearest_two(
        matrix, halves(matrix), np.zeros((1, 2)), np.array([0]), np.array([[1.0, 0.0]]), np.array([[2.0]])
    )
    assert found.tolist() == [[[0, -1]]]
    assert distance.tolist() == [[[1.0, np.inf]]]


def test_nothing_to_search():
    matrix = np.eye(2, dtype=np.float32)
    found, distance = nearest.nearest_two(
        matrix, halves(matrix), np.empty((0, 2)), np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 3))
    )
    assert found.shape == distance.shape == (0, 3, 2)
    assert nearest.top_k(matrix, halves(matrix), np.empty((0, 2)), 2).shape == (0, 2)


def test_one_radius_and_many_agree_to_the_last_bit():
    # A setting must not change because others are searched beside it.
    rng = np.random.default_rng(12)
    matrix = random_rows(rng, 300, 40).astype(np.float32)
    bases, base_of = matrix[:5].astype(np.float64), rng.integers(5, size=50)
    directions, radii = unit(rng.standard_normal((50, 40))), rng.gamma(40, 1, (50, 1)) / np.array([3.0, 10.0, 40.0])
    found, distance = nearest.nearest_two(matrix, halves(matrix), bases, base_of, directions, radii)
    for e in range(3):
        alone = nearest.nearest_two(matrix, halves(matrix), bases, base_of, directions, radii[:, e : e + 1])
        np.testing.assert_array_equal(alone[0][:, 0], found[:, e])
        np.testing.assert_array_equal(alone[1][:, 0], distance[:, e])


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_scales_of_the_whole_vocabulary(scale):
    # The range of norms that Vectors admits; no product may overflow or vanish in float32.
    rng = np.random.default_rng(11)
    matrix = (rng.standard_normal((300, 20)) * scale / 10).astype(np.float32)
    radii = scale * rng.uniform(0.01, 100, (20, 4))
    agree(matrix, matrix[:3], rng.integers(3, size=20), unit(rng.standard_normal((20, 20))), radii)
    points = matrix[:5].astype(np.float64) + 0.1 * scale
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, 7), brute_k(matrix, points, 7))


def test_ties_go_to_the_lower_row():
    matrix = np.array([[3.0], [1.0], [-1.0], [1.0], [-1.0]], np.float32)
    found, distance = nearest.nearest_two(
        matrix, halves(matrix), np.zeros((1, 1)), np.array([0]), np.array([[1.0]]), np.array([[0.0]])
    )
    assert found.tolist() == [[[1, 2]]]
    assert distance.tolist() == [[[1.0, 1.0]]]
    assert nearest.top_k(matrix, halves(matrix), np.zeros((1, 1)), 5).tolist() == [[1, 2, 3, 4, 0]]


def test_a_search_in_float32_alone_would_be_wrong():
    # The twin: on this data the plain float32 scores name other words, so the agreement above is not for free.
    rng = np.random.default_rng(4)
    matrix = far_from_zero(rng, 700, 17).astype(np.float32)
    points = far_from_zero(rng, 200, 17)
    plain = (points.astype(np.float32) @ matrix.T - halves(matrix).astype(np.float32)).argmax(axis=1)
    assert (plain != brute_k(matrix, points, 1)[:, 0]).any()


@st.composite
def searches(draw):
    dimension = draw(st.integers(1, 12))
    count = draw(st.integers(1, 90))
    kind = draw(st.sampled_from(KINDS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = np.asarray(kind(rng, count, dimension), np.float32)
    rows, sweep = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    bases = matrix[rng.integers(count, size=3)].astype(np.float64)
    radii = rng.gamma(dimension, 1, (rows, 1)) / 10.0 ** rng.uniform(-6, 6, sweep)
    return matrix, bases, rng.integers(3, size=rows), unit(rng.standard_normal((rows, dimension))), radii


@given(searches())
@examples(60)
def test_nearest_two_of_any_shape(search):
    agree(*search)


# --- distances ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_distances(kind):
    rng = np.random.default_rng(5)
    matrix = np.asarray(kind(rng, 300, 33), np.float32)
    for point in (matrix[7].astype(np.float64), rng.standard_normal(33)):
        found = nearest.distances(matrix, point)
        assert found.dtype == np.float64
        # Sums of positive numbers: however they are ordered, the relative error stays near n roundings.
        np.testing.assert_allclose(found, np.sqrt(squares(matrix, point)), rtol=1e-14)
    assert nearest.distances(matrix, matrix[7].astype(np.float64))[7] == 0


@pytest.mark.parametrize("count", range(1, 18))
def test_twins_are_at_equal_distances(count):
    # Wherever a row stands, its distance is computed in the same way: ties stay ties.
    rng = np.random.default_rng(count)
    matrix = np.tile(rng.standard_normal(count).astype(np.float32), (count + 3, 1))
    assert len(set(nearest.distances(matrix, rng.standard_normal(count)))) == 1


# --- the k nearest ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 10, 60])
@pytest.mark.parametrize("kind", KINDS)
def test_top_k(kind, k):
    rng = np.random.default_rng(k)
    matrix = np.asarray(kind(rng, 900, 12), np.float32)
    points = np.vstack([matrix[rng.integers(900, size=9)], matrix.mean(axis=0), 1e4 * np.ones(12)]).astype(np.float64)
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, k), brute_k(matrix, points, k))


@pytest.mark.parametrize("kind", KINDS)
def test_top_k_with_little_room_for_candidates(kind, monkeypatch):
    monkeypatch.setattr(nearest, "_KEPT", 0)
    rng = np.random.default_rng(6)
    matrix = np.asarray(kind(rng, 600, 5), np.float32)
    points = rng.standard_normal((40, 5))
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, 2), brute_k(matrix, points, 2))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_top_k_of_fewer_rows_than_asked(count):
    matrix = np.arange(count, dtype=np.float32)[:, None]
    found = nearest.top_k(matrix, halves(matrix), np.array([[5.0]]), 5)
    assert found.tolist() == [[*range(count - 1, -1, -1), *[-1] * (5 - count)]]


@given(searches(), st.integers(1, 40))
@examples(60)
def test_top_k_of_any_shape(search, k):
    matrix, bases, base_of, directions, radii = search
    points = bases[base_of] + radii[:, :1] * directions
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, k), brute_k(matrix, points, k))


# --- blocks, tiles, threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [random_rows, on_a_grid, nearly_equal])
@pytest.mark.parametrize(("block", "tile", "threads"), [(1, 512, 1), (512, 1, 2), (7, 33, 3), (100, 5000, 2)])
def test_independent_of_blocks_tiles_and_threads(kind, block, tile, threads, monkeypatch):
    rng = np.random.default_rng(8)
    matrix = np.asarray(kind(rng, 500, 30), np.float32)
    bases = matrix[:20].astype(np.float64)
    base_of, directions = rng.integers(20, size=70), unit(rng.standard_normal((70, 30)))
    radii = rng.gamma(30, 1, (70, 1)) / np.array([5.0, 20.0])
    before = nearest.nearest_two(matrix, halves(matrix), bases, base_of, directions, radii)
    before_k = nearest.top_k(matrix, halves(matrix), bases, 9)
    monkeypatch.setattr(nearest, "BLOCK", block)
    monkeypatch.setattr(nearest, "TILE", tile)
    monkeypatch.setenv("QUIPUKIT_THREADS", str(threads))
    assert nearest.workers() == threads
    after = nearest.nearest_two(matrix, halves(matrix), bases, base_of, directions, radii)
    np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])
    np.testing.assert_array_equal(before_k, nearest.top_k(matrix, halves(matrix), bases, 9))


@pytest.mark.parametrize("setting", ["", "0", "-2", "many", "1.5"])
def test_a_number_of_threads_that_is_none_is_not_used(setting, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_THREADS", setting)
    assert nearest.workers() >= 1


@pytest.mark.parametrize("threads", ["1", "3"])
def test_tasks_keep_their_order_and_their_errors(threads, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_THREADS", threads)
    assert nearest.in_threads(lambda i: i * i, range(20)) == [i * i for i in range(20)]
    with pytest.raises(ZeroDivisionError):
        nearest.in_threads(lambda i: 1 // (i - 3), range(5))


def test_a_read_only_matrix_is_searched_as_any_other():
    # Stored vectors are mapped read-only; a kernel that is compiled for writeable arrays alone would refuse them.
    matrix = np.random.default_rng(9).standard_normal((50, 4)).astype(np.float32)
    points = matrix[:3].astype(np.float64)
    wanted = nearest.top_k(matrix, halves(matrix), points, 4), nearest.distances(matrix, points[0])
    matrix.flags.writeable = False
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, 4), wanted[0])
    np.testing.assert_array_equal(nearest.distances(matrix, points[0]), wanted[1])
    agree(matrix, points, np.zeros(5, np.int64), unit(np.ones((5, 4))), np.ones((5, 1)))


# --- the bound ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 10, 300, 1024])
def test_the_bound_holds_for_float32_scores(dimension):
    rng = np.random.default_rng(dimension)
    a = rng.standard_normal((40, dimension)) * 10.0 ** rng.uniform(-3, 3, (40, 1))
    b = rng.standard_normal((60, dimension)).astype(np.float32)
    scores = a.astype(np.float32) @ b.T
    off = np.abs(scores - a @ b.T.astype(np.float64))
    limit = nearest.error_bound(dimension) * np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    assert (off <= limit).all()
    # A bound that always holds and is never near would cost speed, not truth; it grows with the dimension alone.
    assert nearest.error_bound(dimension) < (dimension + 9) * 2.0**-24


@pytest.mark.parametrize("radii", [1, 3])
def test_directions_can_be_shared_by_several_bases(radii, monkeypatch):
    """Every base with every direction, as if each pair had a direction of its own; over several blocks."""
    monkeypatch.setattr(nearest, "_SHARED", 4)
    rng = np.random.default_rng(11)
    matrix = rng.standard_normal((700, 6)).astype(np.float32)
    bases, directions = rng.standard_normal((5, 6)), unit(rng.standard_normal((30, 6)))
    direction_of, base_of = np.repeat(np.arange(30), 5), np.tile(np.arange(5), 30)
    radius = rng.gamma(6, 1, (150, radii))
    found, distance = nearest.nearest_two(matrix, halves(matrix), bases, base_of, directions, radius, direction_of)
    wanted, wanted_distance = brute_two(matrix, bases, base_of, directions[direction_of], radius)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(distance, wanted_distance)
    assert (found[0::5] != found[1::5]).any()
