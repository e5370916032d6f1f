"""Counting equals sorting, exactly, on friendly and on nasty logs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.attackers import ranks
from quipukit.attackers.ranks import best_rows, count_better
from quipukit.executors import Local
from tests.executors.travelling import Travelling
from tests.stat_checks import assert_ks, refuted


def unit(rows):
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return np.divide(rows.astype(np.float64), norms, out=np.zeros(rows.shape), where=norms > 0)


def by_sorting(centroids, targets, log):
    similarity = unit(centroids) @ unit(log).T
    own = similarity[np.arange(len(targets)), targets][:, None]
    others = np.ones(similarity.shape, bool)
    others[np.arange(len(targets)), targets] = False
    better = ((similarity > own + 1e-12) & others).sum(axis=1)
    tied = ((np.abs(similarity - own) <= 1e-12) & others).sum(axis=1)
    return better, tied


def counted(centroids, targets, log):
    return count_better(centroids, np.asarray(targets), lambda a, b: log[a:b], len(log), log[np.asarray(targets)])


def assert_counts(centroids, targets, log):
    found = counted(centroids, targets, log)
    better, tied = by_sorting(centroids, targets, log)
    assert found.better.tolist() == better.tolist()
    assert found.tied.tolist() == tied.tolist()


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_counting_equals_sorting(size, dimension, centers, seed):
    rng = np.random.default_rng(seed)
    log = rng.integers(-2, 3, (size, dimension)).astype(np.float32)  # few values: many exact ties, some zero rows
    centroids = rng.integers(-2, 3, (centers, dimension)).astype(float)
    assert_counts(centroids, rng.integers(0, size, centers), log)


def test_counting_equals_sorting_over_many_slabs(monkeypatch):
    rng = np.random.default_rng(1)
    log = rng.standard_normal((3000, 64)).astype(np.float32)
    log[100:140] = log[50]
    targets = np.concatenate([[50, 100, 139], rng.integers(0, 3000, 700)])
    centroids = rng.standard_normal((703, 64)) + 0.5 * log[targets]
    expected = counted(centroids, targets, log)
    assert_counts(centroids, targets, log)
    for name, value in (("_SLAB", 257), ("BLOCK", 13), ("TILE", 31)):
        monkeypatch.setattr(ranks, name, value)
        found = counted(centroids, targets, log)
        assert (found.better == expected.better).all() and (found.tied == expected.tied).all()


def test_entries_within_the_rounding_of_float32_are_told_apart():
    # All similarities agree to float32; only float64 sees their order.
    base = np.ones(128)
    offsets = np.arange(40) * 3e-9
    log = np.array([base + offset * (np.arange(128) == 0) for offset in offsets], np.float64)
    centroid = np.array([np.arange(128) == 0], float)
    assert len(np.unique((unit(centroid) @ unit(log).T).astype(np.float32))) < 40
    found = count_better(centroid, np.array([20]), lambda a, b: log[a:b], 40, log[[20]])
    assert found.better.tolist() == [19]


def test_permuting_splitting_or_duplicating_the_work_changes_nothing():
    rng = np.random.default_rng(2)
    log = rng.standard_normal((500, 16)).astype(np.float32)
    targets = rng.integers(0, 500, 30)
    centroids = rng.standard_normal((30, 16))
    whole = counted(centroids, targets, log)
    order = rng.permutation(500)
    place = np.argsort(order)
    permuted = counted(centroids, place[targets], log[order])
    assert (permuted.better == whole.better).all()
    alone = [counted(centroids[i : i + 1], targets[i : i + 1], log).better[0] for i in range(30)]
    assert alone == whole.better.tolist()


def test_a_target_outside_the_log_is_counted_against_all_entries():
    log = np.eye(3, dtype=np.float32)
    found = count_better(np.array([[1.0, 0, 0]]), np.array([-1]), lambda a, b: log[a:b], 3, np.array([[1.0, 1, 0]]))
    assert (found.better.tolist(), found.tied.tolist()) == ([1], [0])


def test_vectors_of_norm_zero_have_similarity_zero():
    log = np.array([[0, 0], [1, 0], [-1, 0]], np.float32)
    found = count_better(np.zeros((1, 2)), np.array([1]), lambda a, b: log[a:b], 3, log[[1]])
    assert (found.better.tolist(), found.tied.tolist()) == ([0], [2])


@pytest.mark.statistical
def test_independent_vectors_give_a_uniform_rank():
    """False-alarm rate 1e-6. The twin: centroids that lean towards their target are caught."""
    rng = np.random.default_rng(3)
    log = rng.standard_normal((999, 8)).astype(np.float32)
    targets = rng.integers(0, 999, 4000)
    centroids = rng.standard_normal((4000, 8))

    def check(points):
        rank = counted(points, targets, log).better + rng.random(4000)
        assert_ks(rank / 999, lambda x: np.clip(x, 0, 1))

    check(centroids)
    assert refuted(check, centroids + 0.3 * log[targets])


def test_expected_reciprocal_rank_of_independent_vectors():
    rng = np.random.default_rng(4)
    size = 50
    log = rng.standard_normal((size, 6)).astype(np.float32)
    targets = rng.integers(0, size, 20_000)
    ranks_found = counted(rng.standard_normal((20_000, 6)), targets, log).better + 1
    expected = (1 / np.arange(1, size + 1)).mean()
    spread = (1 / np.arange(1, size + 1)).std() / np.sqrt(20_000)
    assert abs((1 / ranks_found).mean() - expected) < 5 * spread


def test_best_rows_are_the_top_of_the_sorted_log(monkeypatch):
    monkeypatch.setattr(ranks, "_SLAB", 17)
    rng = np.random.default_rng(5)
    log = rng.standard_normal((100, 5)).astype(np.float32)
    log[40] = log[3]
    centroids = np.vstack([rng.standard_normal((6, 5)), log[3]])
    rows, scores = best_rows(centroids, lambda a, b: log[a:b], np.arange(100), 4)
    similarity = unit(centroids) @ unit(log).T
    for i in range(len(centroids)):
        assert scores[i] == pytest.approx(np.sort(similarity[i])[::-1][:4])
    assert rows[-1, :2].tolist() == [3, 40]


@pytest.mark.parametrize("top", [1, 5, 30, 200])
def test_best_rows_are_those_of_a_full_sort(monkeypatch, top):
    monkeypatch.setattr(ranks, "_SLAB", 17)
    monkeypatch.setattr(ranks, "_CENTERS", 3)
    rng = np.random.default_rng(top)
    log = rng.integers(-1, 2, (120, 3)).astype(np.float32)  # many are equal, and some are 0
    centroids = rng.integers(-1, 2, (8, 3)).astype(float)
    turns = rng.permutation(120)
    rows, _ = best_rows(centroids, lambda a, b: log[a:b], turns, top)
    similarity = np.round(unit(centroids) @ unit(log).T, 12)
    wanted = [np.lexsort((turns, -own))[:top] for own in similarity]
    np.testing.assert_array_equal(rows, wanted)


@pytest.mark.heavy
def test_counting_in_other_processes_changes_nothing(monkeypatch):
    monkeypatch.setattr(ranks, "_SLAB", 16)
    rng = np.random.default_rng(4)
    log = rng.integers(-2, 3, (300, 5)).astype(np.float32)  # many ties
    targets = np.array([0, 17, 299, -1])
    vectors = np.vstack([log[[0, 17, 299]], rng.normal(size=(1, 5))]).astype(np.float64)
    told = []

    def count(executor):
        report = (lambda done, total: told.append((done, total)), executor)
        return count_better(vectors + 0.5, targets, lambda start, stop: log[start:stop], len(log), vectors, *report)

    here = count(Local())
    with Travelling() as executor:
        count(executor)
        assert executor.items == 0  # four centroids are not worth the way of the log
        monkeypatch.setattr(ranks, "FEWEST_TO_SEND", 4)
        elsewhere = count(executor)
        assert executor.items == 6
        assert executor.shared == 1
    assert (here.better.tolist(), here.tied.tolist()) == (elsewhere.better.tolist(), elsewhere.tied.tolist())
    assert here.tied.max() > 0
    assert told[-1] == (300, 300)
