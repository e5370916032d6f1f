"""Pairs of inputs: every kind that can leak, the same for the same seed."""

import numpy as np

import quipukit as qk
from quipukit.auditing.pairs import pairs_of, twins, unknown_words
from tests.auditing.twins import vocabulary
from tests.covers.pools import partition


def test_every_kind_of_pair_is_there_and_depends_on_the_seed_alone() -> None:
    points = np.random.default_rng(2).normal(size=(60, 3))
    points[50] = points[40]
    points[20] *= 10
    names = ["the" if number == 30 else "w" * (number % 7) + f"x{number}" for number in range(60)]
    mechanism = qk.mechanism("CusText(k=5)@3", qk.Vectors(names, points))
    pairs = pairs_of(mechanism, 1)
    kinds = {pair.kind for pair in pairs}
    assert kinds == {
        *("unknown", "case", "near", "far", "query", "frequent", "stop word", "outlier", "twins", "length", "group")
    }
    assert pairs == pairs_of(mechanism, 1) != pairs_of(mechanism, 2)
    assert all(pair.one != pair.other for pair in pairs)
    assert len({frozenset((pair.one, pair.other)) for pair in pairs}) == len(pairs)


def test_near_is_nearer_than_far() -> None:
    vectors = vocabulary()
    far = {}
    for pair in pairs_of(qk.mechanism("CMP@3", vectors), 1):
        if pair.kind in ("near", "far"):
            far.setdefault(pair.one, {})[pair.kind] = abs(vectors.vector(pair.one) - vectors.vector(pair.other)).sum()
    assert far and all(one["near"] < one["far"] for one in far.values() if len(one) == 2)


def test_twins_have_equal_vectors() -> None:
    vectors = vocabulary()
    assert twins(vectors, 5) == [(len(vectors) - 2, len(vectors) - 1)]
    assert twins(qk.Vectors(["a", "b"], [[1.0], [2.0]]), 5) == []


def test_unknown_words_are_unknown_and_single() -> None:
    first = unknown_words(qk.mechanism("CMP@3", vocabulary()), 2)
    known = qk.Vectors([*first, "cat"], [[0.0], [1.0], [2.0]])
    others = unknown_words(qk.mechanism("CMP@3", known), 2)
    assert len({*first, *others}) == 4 and not any(word in known for word in others)


def test_one_word_leaves_unknown_words_and_case() -> None:
    pairs = pairs_of(qk.mechanism("CMP@3", qk.Vectors(["only"], [[1.0]])), 1)
    assert {pair.kind for pair in pairs} == {"unknown", "case"}


def test_queries_of_a_pool_and_queries_without_one() -> None:
    pool = {pair.kind for pair in pairs_of(qk.mechanism("Cover@10", cover=partition()), 1)}
    assert pool == {"near", "far", "case", "outside", "unknown"}
    assert {"near", "far", "unknown"} <= {pair.kind for pair in pairs_of(qk.mechanism("Identity"), 1)}
