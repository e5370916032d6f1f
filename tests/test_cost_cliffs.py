"""Inputs that once cost many times what others do: each is compared with an ordinary one in the same run.

Processor time, the best of three, and limits between what is measured and what was; `python -m benchmarks cliffs` shows
all three.
"""

from collections import Counter

import numpy as np
import pytest

from quipukit import seeds
from quipukit.obfuscation import obfuscate
from quipukit.vectors import default_pack, nearest
from quipukit.vectors.store import Vectors

cliffs = pytest.importorskip("benchmarks.cliffs", reason="a source distribution has no benchmarks")

# About a second each; one of every kind is left.
SLOW = (
    "CusText, sweep of ten settings / one",
    "WBB published, one query of 800 words / short ones",
    "200 equal rows, CMP at ten epsilons",
    "one outlier row, CMP at ten epsilons",
)


@pytest.mark.serial
@pytest.mark.parametrize("name", [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in cliffs.CASES])
def test_no_cliff_is_left(name):
    case = cliffs.CASES[name]
    assert case.ratio(quick=True) < case.limit


def halves(matrix):
    return np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64) / 2


@pytest.mark.parametrize("scale", [5.0, 300.0, 1e4])
@pytest.mark.parametrize("count", [1, 2, 70])
def test_long_rows_are_found_where_they_are_nearest(scale, count):
    rng = np.random.default_rng(count)
    matrix = rng.standard_normal((600, 8)).astype(np.float32)
    long_rows = rng.choice(600, count, replace=False)
    matrix[long_rows] *= scale
    matrix[long_rows[0]] = matrix[5] if count == 2 else matrix[long_rows[0]]  # a twin, on either side of the limit
    points = np.concatenate([matrix[long_rows] * 1.01, matrix[:50] + 0.1, matrix[long_rows] / 2]).astype(np.float64)
    gaps = np.square(points[:, None, :] - matrix[None].astype(np.float64)).sum(axis=2)
    wanted = np.argsort(gaps, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(nearest.top_k(matrix, halves(matrix), points, 7), wanted)
    zeros, ones = np.zeros(len(points), np.int64), np.ones((len(points), 1))
    found, _ = nearest.nearest_two(matrix, halves(matrix), np.zeros((1, 8)), zeros, points, ones)
    np.testing.assert_array_equal(found[:, 0], wanted[:, :2])
    sweep, _ = nearest.nearest_two(
        matrix, halves(matrix), np.zeros((1, 8)), zeros, points / 3, 3 * np.ones((len(points), 2))
    )
    assert (gaps[np.arange(len(points)), sweep[:, 0, 0]] <= gaps.min(axis=1) * (1 + 1e-12) + 1e-12).all()


def test_equal_rows_go_by_their_number():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((900, 6)).astype(np.float32)
    matrix[100:400] = matrix[850]
    points = matrix[[850, 850, 3]].astype(np.float64)
    found, distance = nearest.nearest_two(
        matrix, halves(matrix), points, np.arange(3), np.zeros((3, 6)), np.ones((3, 4))
    )
    assert found[:2].reshape(-1, 2).tolist() == [[100, 101]] * 8 and not distance[:2].any()
    assert nearest.top_k(matrix, halves(matrix), points, 5).tolist()[0] == [100, 101, 102, 103, 104]


def test_a_sweep_in_common_mode_opens_each_stream_once(monkeypatch):
    vectors = Vectors([f"x{i}" for i in range(20)], np.random.default_rng(1).standard_normal((20, 4)))
    opened = Counter()
    stream = seeds.stream

    def count(*identity):
        opened[identity] += 1
        return stream(*identity)

    monkeypatch.setattr(seeds, "stream", count)
    specs = [f"{name}@{epsilon}" for name in ("SanText", "TEM", "CMP") for epsilon in range(1, 11)]
    obfuscate({"a": "x1 x2", "b": "x3"}, specs, 5, vectors=vectors, seed=1, noise="common")
    assert set(opened.values()) == {1} and len(opened) == 3 * 2 * 5


def test_gaussian_unknowns_are_looked_up_once_for_a_sweep(monkeypatch):
    vectors = Vectors([f"x{i}" for i in range(20)], np.random.default_rng(1).standard_normal((20, 4)))
    asked = []
    distances = nearest.distances
    monkeypatch.setattr(nearest, "distances", lambda *of: asked.append(1) or distances(*of))
    specs = [f"SanText(oov=gaussian)@{epsilon}" for epsilon in range(1, 11)]
    obfuscate("unknown x1", specs, 7, vectors=vectors, seed=1, noise="common")
    assert len(asked) == 7 + 1  # a point for every variant, not for every variant and setting; and the known word


def test_no_piece_is_longer_than_what_is_looked_up():
    pieces = default_pack.word_pieces(default_pack.model_folder())[0]
    assert max(map(len, pieces)) == default_pack.LONGEST_PIECE
    table = {name: row for row, name in enumerate(["a", "##b", "ab", "##" + "c" * 16, "##c"])}
    assert default_pack.split("ab" + "c" * 17, table) == [2, 3, 4]
