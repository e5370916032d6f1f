"""The list of a vocabulary is that of the definition, word by word, and depends on nothing but the vectors."""

import numpy as np
import pytest

from quipukit.vectors import chaining
from quipukit.vectors.chaining import chain
from quipukit.vectors.store import Vectors, load, save


def by_definition(matrix: np.ndarray) -> list[int]:
    left, order = list(range(1, len(matrix))), [0]
    while left:
        away = [np.linalg.norm(matrix[row].astype(float) - matrix[order[-1]].astype(float)) for row in left]
        order.append(left.pop(int(np.argmin(away))))
    return order


@pytest.mark.parametrize(
    ("words", "dimension", "near"), [(300, 3, 48), (300, 3, 2), (80, 20, 4), (2, 1, 48), (1, 2, 48)]
)
def test_it_is_the_greedy_list(monkeypatch, words, dimension, near):
    """With short lists of neighbors most of the way is by passes, and with long ones by lists: the same either way."""
    monkeypatch.setattr(chaining, "_NEAR", near)
    matrix = np.random.default_rng(words).standard_normal((words, dimension)).astype(np.float32)
    assert chain(Vectors([f"w{i}" for i in range(words)], matrix)).tolist() == by_definition(matrix)


def test_twins_follow_each_other_in_the_order_of_their_rows():
    matrix = np.zeros((120, 2), np.float32)
    matrix[::2, 0] = 1.0
    order = chain(Vectors([f"w{i}" for i in range(120)], matrix)).tolist()
    assert order == [*range(0, 120, 2), *range(1, 120, 2)]


def test_it_is_kept_beside_stored_vectors(tmp_path):
    matrix = np.random.default_rng(3).standard_normal((40, 4))
    save(Vectors([f"w{i}" for i in range(40)], matrix), tmp_path / "pack")
    first = chain(load(tmp_path / "pack"))
    assert (tmp_path / "pack" / "chain.npy").is_file()
    np.save(tmp_path / "pack" / "chain.npy", first[::-1])  # damaged: made again
    np.testing.assert_array_equal(chain(load(tmp_path / "pack")), first)


def test_progress_rises_to_the_end_and_begins_before_the_first_neighbors_are_found(monkeypatch):
    monkeypatch.setattr(chaining, "_BATCH", 64)
    reports: list[tuple[float, float]] = []
    matrix = np.random.default_rng(4).standard_normal((700, 8))
    vectors = Vectors([f"w{i}" for i in range(700)], matrix)
    chain(vectors, lambda done, total: reports.append((done, total)))
    done = [one for one, _ in reports]
    assert done == sorted(done) and reports[-1] == (700, 700) and len(reports) > 10 and 0 < done[0] < 100
    chain(vectors, lambda done, total: reports.append((-1, 0)))
    assert reports[-1] == (700, 700), "a list that is made is not made again"
