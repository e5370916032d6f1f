"""Groups are a partition, and the fast assignment is the sequential rule to the letter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.vectors import grouping
from quipukit.vectors.grouping import group_words
from quipukit.vectors.store import Vectors
from tests.examples import examples


def squares(matrix: np.ndarray, point: np.ndarray) -> np.ndarray:
    total = np.zeros(len(matrix))
    for k in range(matrix.shape[1]):
        gap = float(point[k]) - matrix[:, k].astype(np.float64)
        total += gap * gap
    return total


def naive(matrix: np.ndarray, size: int) -> np.ndarray:
    """The rule as it is written: one anchor after the other, each with a full search."""
    group_of = np.full(len(matrix), -1)
    anchors: list[int] = []
    while (group_of < 0).sum() >= size:
        free = np.flatnonzero(group_of < 0)
        anchor = free[0]
        near = free[np.argsort(squares(matrix[free], matrix[anchor]), kind="stable")]
        members = [anchor, *near[near != anchor]][:size]
        group_of[members] = len(anchors)
        anchors.append(anchor)
    for row in np.flatnonzero(group_of < 0):
        group_of[row] = int(np.argmin(squares(matrix[anchors], matrix[row]))) if anchors else 0
    return group_of


def vectors_of(matrix) -> Vectors:
    return Vectors([f"w{i}" for i in range(len(matrix))], matrix)


def assert_partition(found: grouping.Grouping, count: int, size: int) -> None:
    assert sorted(np.concatenate(found.members).tolist()) == list(range(count))
    for number, members in enumerate(found.members):
        assert (found.group_of[members] == number).all()
    sizes = [len(members) for members in found.members]
    if count < size:
        assert sizes == [count]
    else:
        assert min(sizes) >= size
        assert max(sizes) <= 2 * size - 1


def plain(rng, count, dimension):
    return rng.standard_normal((count, dimension))


def twins(rng, count, dimension):
    few = rng.standard_normal((max(1, count // 4), dimension))
    return few[rng.integers(len(few), size=count)]


def grid(rng, count, dimension):
    return rng.integers(0, 3, (count, dimension))


def equal(rng, count, dimension):
    return np.ones((count, dimension))


def clusters(rng, count, dimension):
    """Tight heaps: a list of near words runs out again and again."""
    return rng.integers(0, 3, (count, 1)) * 100 + 0.01 * rng.standard_normal((count, dimension))


KINDS = [plain, twins, grid, equal, clusters]


@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_follow_the_sequential_rule(kind, size):
    matrix = np.asarray(kind(np.random.default_rng(size), 407, 5), np.float32)
    found = group_words(vectors_of(matrix), size)
    assert_partition(found, 407, size)
    np.testing.assert_array_equal(found.group_of, naive(matrix, size))


@pytest.mark.parametrize("size", [4, 10])
def test_groups_where_many_anchors_want_the_same_words(size):
    # Anchors on the axes, far from each other, and a heap in the middle that is nearest to all of them: the list of
    # near words that an anchor got at the start of its batch is used up before its turn comes.
    matrix = np.zeros((900, 25), np.float32)
    matrix[:25] = 10 * np.eye(25)
    np.testing.assert_array_equal(group_words(vectors_of(matrix), size).group_of, naive(matrix, size))
    heap = matrix + np.where(np.arange(900) < 25, 0, 1e-3)[:, None] * np.random.default_rng(5).standard_normal(
        (900, 25)
    )
    heap = heap.astype(np.float32)
    np.testing.assert_array_equal(group_words(vectors_of(heap), size).group_of, naive(heap, size))


@pytest.mark.parametrize("batch", [1, 2, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_groups_do_not_depend_on_the_batches(kind, batch, monkeypatch):
    monkeypatch.setattr(grouping, "_BATCH", batch)
    matrix = np.asarray(kind(np.random.default_rng(batch), 230, 3), np.float32)
    np.testing.assert_array_equal(group_words(vectors_of(matrix), 4).group_of, naive(matrix, 4))


@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(1, 120),
    dimension=st.integers(1, 6),
    size=st.integers(2, 25),
    seed=st.integers(0, 2**32 - 1),
)
@examples(60)
def test_groups_of_any_vocabulary(kind, count, dimension, size, seed):
    matrix = np.asarray(kind(np.random.default_rng(seed), count, dimension), np.float32)
    found = group_words(vectors_of(matrix), size)
    assert_partition(found, count, size)
    np.testing.assert_array_equal(found.group_of, naive(matrix, size))


@pytest.mark.parametrize(("count", "size"), [(1, 2), (2, 2), (3, 4), (9, 10), (10, 10)])
def test_one_group_where_the_vocabulary_has_no_more_words_than_a_group(count, size):
    found = group_words(vectors_of(np.random.default_rng(1).standard_normal((count, 3))), size)
    assert len(found.members) == 1
    assert found.members[0].tolist() == list(range(count))


def test_words_that_are_left_over_join_their_nearest_anchor():
    # Anchors: 0 with 1, then 10 with 11; 12 is left, and a group of one would be no hiding place.
    line = np.array([[0.0], [1.0], [10.0], [11.0], [12.0]], np.float32)
    assert group_words(vectors_of(line), 2).group_of.tolist() == [0, 0, 1, 1, 1]
    # All leftovers at one anchor: the largest group that there can be.
    line = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [50.2], [49.0], [48.0]], np.float32)
    found = group_words(vectors_of(line), 3)
    assert found.group_of.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert len(found.members[1]) == 2 * 3 - 1


def test_cosine_groups_look_at_the_direction_alone():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((150, 6)).astype(np.float32)
    lengths = (2.0 ** rng.integers(-3, 4, (150, 1))).astype(np.float32)  # powers of two: scaling is exact
    found = group_words(vectors_of(matrix), 7, "cosine")
    assert_partition(found, 150, 7)
    np.testing.assert_array_equal(found.group_of, group_words(vectors_of(matrix * lengths), 7, "cosine").group_of)
    assert (found.group_of != group_words(vectors_of(matrix * lengths), 7).group_of).any()

    # The rule again, by similarity: the first free word with the most similar free words.
    unit = matrix / np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
    first = np.argsort(-(unit @ unit[0]), kind="stable")[:7]
    assert set(found.members[0]) == set(first)


def test_cosine_groups_survive_a_zero_vector():
    matrix = np.random.default_rng(3).standard_normal((20, 4))
    matrix[[0, 5]] = 0
    assert_partition(group_words(vectors_of(matrix), 3, "cosine"), 20, 3)


def test_a_place_that_is_no_word_goes_to_the_nearest_center():
    line = np.array([[0.0], [1.0], [10.0], [14.0]], np.float32)
    found = group_words(vectors_of(line), 2)
    np.testing.assert_allclose(found.centers, [[0.5], [12.0]])
    assert found.group_of_place(np.array([6.0]), -1).tolist() == [0, 1]
    assert found.group_of_place(np.array([6.5]), -1).tolist() == [2, 3]
    # A word stays in its own group, wherever its point is said to be.
    assert found.group_of_place(np.array([0.0]), 3).tolist() == [2, 3]


def test_groups_are_made_once():
    vectors = vectors_of(np.random.default_rng(4).standard_normal((30, 2)))
    assert group_words(vectors, 3) is group_words(vectors, 3)
    assert group_words(vectors, 3) is not group_words(vectors, 4)
    assert group_words(vectors, 3) is not group_words(vectors, 3, "cosine")
