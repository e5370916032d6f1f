"""The lemmas behind the bounds of floating point, each against draws or exact arithmetic, and each with a twin."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.mahalanobis import ellipsoid
from quipukit.mechanisms.perturbation import draw_noise
from quipukit.mechanisms.roundoff import UNIT, gaps, in_words, noise_error, table_error
from quipukit.vectors.nearest import nearest_two
from quipukit.vectors.store import Vectors

Floats = np.ndarray[Any, np.dtype[np.float64]]


def vocabulary(words: int, dimension: int, seed: int = 0, spread: float = 2.0) -> Vectors:
    points = np.random.default_rng(seed).standard_normal((words, dimension)) * spread
    return Vectors([f"w{i}" for i in range(words)], points)


def two_nearest(vectors: Vectors, points: Floats) -> tuple[Floats, Floats]:
    far = np.linalg.norm(points[:, None] - vectors.matrix[None], axis=2)
    order = np.argsort(far, axis=1)[:, :3]
    return order, np.take_along_axis(far, order, axis=1)


def boundary_measure(mechanism: Any, word: str, second: bool, draws: int = 50_000) -> float:
    """Return P(a boundary between the nearest words is nearer than 1 % of its own distance h), divided by 1 %."""
    share = 0.01
    rng, vectors = np.random.default_rng(3), mechanism.vectors
    points = vectors.vector(word) + mechanism.noise(rng, draws)
    order, far = two_nearest(vectors, points)
    total = 0.0
    for a, b in [(0, 1), (1, 2)] if second else [(0, 1)]:
        apart = np.linalg.norm(vectors.matrix[order[:, a]] - vectors.matrix[order[:, b]], axis=1)
        # |v - b|^2 - |v - a|^2 = 2 |b - a| s, s being the distance to the boundary, which is h = |b - a| / 2 from both.
        total += ((far[:, b] ** 2 - far[:, a] ** 2) / (2 * apart) < share * apart / 2).mean() / share
    return total


def allowed(bound: float, draws: int = 50_000) -> float:
    """Return what an estimate of at most ``bound`` stays below: cells shrink by 1 %, and six standard errors."""
    return bound / 0.99 + 6 * math.sqrt(bound / 0.01 / draws)


@pytest.mark.statistical
@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_the_boundaries_of_all_cells_together_are_short(dimension, epsilon):
    """The lemma: the sum over boundaries of h times their measure is 2n at most; false alarms: 1e-9."""
    one = CMP(epsilon=epsilon, vectors=vocabulary(40, dimension))
    for word in ("w0", "w7", "w31"):
        assert boundary_measure(one, word, False) <= allowed(2 * dimension)


def test_the_lemma_is_no_idle_bound():
    """The twin: a tenth of it does not hold."""
    one = CMP(epsilon=1.0, vectors=vocabulary(60, 2))
    assert boundary_measure(one, "w0", False) > 0.2 * 2


@pytest.mark.parametrize("dimension", [2, 5])
def test_the_boundaries_of_the_second_nearest_and_of_ellipsoids_are_short_too(dimension):
    vectors = vocabulary(40, dimension, seed=1)
    apart = gaps(vectors)
    for spec, smallest in (("CMP@1", 1.0), ("Mahalanobis@1", ellipsoid(vectors, 1.0).smallest)):
        one = qk.mechanism(spec, vectors=vectors)
        rate = 1 / math.sqrt(smallest)
        first = dimension * (1 + rate)
        assert boundary_measure(one, "w3", False) <= allowed(first)
        both = 2 * first + dimension + rate * (dimension + apart.largest)
        assert boundary_measure(one, "w3", True) <= allowed(both)


def crossings(vectors: Vectors, second: bool, margin: float = 0.0) -> int:
    """Return how often it changes at most which words are nearest, and safely so, while one number takes all values."""
    rng, most = np.random.default_rng(5), 0
    values = np.tan(np.linspace(-np.pi / 2 + 1e-3, np.pi / 2 - 1e-3, 5_001))
    for _ in range(10):
        normals = np.tile(rng.standard_normal(vectors.dimension), (len(values), 1))
        normals[:, 0] = values
        radius = rng.gamma(vectors.dimension)
        points = vectors.matrix[0] + radius * normals / np.linalg.norm(normals, axis=1, keepdims=True)
        order, far = two_nearest(vectors, points)
        safe = np.diff(far**2, axis=1) > margin
        words = 2 if second else 1
        kept = np.column_stack([order[:, :words], safe[:, :words].all(axis=1)])
        most = max(most, int((kept[1:] != kept[:-1]).any(axis=1).sum()))
    return most


def test_a_path_of_noise_crosses_few_boundaries():
    """Two per word for the nearest alone (Davenport and Schinzel), 16 with what is safe, 38 with the second word."""
    for words in (3, 10, 40):
        vectors = vocabulary(words, 3, spread=1.0)
        assert crossings(vectors, False) <= 2 * words - 1
        assert crossings(vectors, False, 0.3) <= 16 * words
        assert crossings(vectors, True, 0.3) <= 38 * words
    assert crossings(vocabulary(40, 3, spread=1.0), False) > 3  # some are crossed
    assert crossings(vocabulary(5, 3), False, 0.3) > crossings(vocabulary(5, 3), False)


def test_the_noisy_point_is_rounded_by_less_than_its_bound():
    """The point that is searched for, against the same numbers in 80 bits; a hundredth of the bound is exceeded."""
    dimension, epsilon, count = 200, 2.0, 400
    drawn = draw_noise(np.random.default_rng(1), count, dimension)
    raw = np.random.default_rng(1).standard_normal((count, dimension)).astype(np.longdouble)
    directions = raw / np.sqrt((raw**2).sum(axis=1, keepdims=True))
    base = np.random.default_rng(2).standard_normal(dimension)
    point = base + (drawn.radii / epsilon)[:, None] * drawn.directions
    exact = base.astype(np.longdouble) + (drawn.radii.astype(np.longdouble) / epsilon)[:, None] * directions
    off = np.sqrt(((point - exact) ** 2).sum(axis=1)).astype(float)
    radius = drawn.radii / epsilon
    bound = UNIT * (radius * (dimension / 2 + 19) + np.linalg.norm(base))
    assert (off <= bound).all()
    assert (off > bound / 1000).any()


def test_the_search_errs_only_where_the_bound_allows_it():
    """Points beside the boundary of two words, decided with fractions: right wherever the bound says so."""
    dimension = 40
    rng = np.random.default_rng(4)
    pair = Vectors(["a", "b"], rng.standard_normal((2, dimension)))
    a, b = ([Fraction(float(x)) for x in row] for row in pair.matrix)
    both = pair.matrix.astype(float)
    middle, apart = both.mean(axis=0), both[1] - both[0]
    away = rng.standard_normal((300, dimension)) * 3000
    away -= np.outer(away @ apart / (apart @ apart), apart)
    steps = 10.0 ** rng.uniform(-18, -11, 300)
    points = middle + away + steps[:, None] * apart
    found, far = nearest_two(
        pair.matrix, pair.half_norms, points, np.arange(300), np.zeros((300, dimension)), np.ones((300, 1))
    )
    wrong_inside = 0
    for row, point in enumerate(points):
        v = [Fraction(float(x)) for x in point]
        gap = sum((x - q) ** 2 - (x - p) ** 2 for x, p, q in zip(v, a, b, strict=True))  # > 0: a is nearer
        bound = 2.02 * (dimension + 3) * UNIT * float(far[row, 0, 0]) ** 2
        right = 0 if gap >= 0 else 1
        if abs(gap) > bound:
            assert found[row, 0, 0] == right
        else:
            wrong_inside += int(found[row, 0, 0] != right)
    assert wrong_inside > 0  # the twin: without an allowance the search would be wrong


def test_the_bound_of_a_mechanism():
    vectors = vocabulary(50, 20)
    errors = {spec: noise_error(qk.mechanism(spec, vectors=vectors)) for spec in ("CMP@1", "CMP@10", "VickreyCMP@10")}
    assert 1e-14 < errors["CMP@10"] < errors["CMP@1"] < 1e-8
    assert errors["CMP@10"] < errors["VickreyCMP@10"] < 1e-8
    assert noise_error(qk.mechanism("VickreyCMP(t=0)@10", vectors=vectors)) == errors["CMP@10"]
    assert noise_error(qk.mechanism("Mahalanobis(lam=0)@10", vectors=vectors)) == errors["CMP@10"]
    assert errors["CMP@10"] < noise_error(qk.mechanism("Mahalanobis(lam=0.5)@10", vectors=vectors)) < 1e-8
    near = Vectors(["a", "b", "c"], [[0.0, 0.0], [1e-7, 0.0], [3.0, 0.0]])
    assert noise_error(CMP(epsilon=1, vectors=near)) == 1.0  # words nearer to each other than rounding can tell apart


def test_twins_count_as_one_place_and_one_place_cannot_be_missed():
    twins = Vectors(["a", "b", "c"], [[0.0], [0.0], [4.0]])
    assert gaps(twins).count == 2
    assert gaps(twins).least == pytest.approx(4)
    assert noise_error(CMP(epsilon=1, vectors=twins)) < 1e-12
    assert noise_error(CMP(epsilon=1, vectors=Vectors(["a", "b"], [[1.0], [1.0]]))) == 0.0


def test_gaps_are_those_of_brute_force():
    vectors = vocabulary(70, 4)
    far = np.array(
        [[np.linalg.norm(a - b) for a, b in itertools.product([row], vectors.matrix)] for row in vectors.matrix]
    )
    np.fill_diagonal(far, np.inf)
    assert gaps(vectors).least == pytest.approx(far.min(axis=1).min())
    assert gaps(vectors).largest == pytest.approx(far.min(axis=1).max())


@pytest.mark.slow
def test_the_figures_of_the_documentation_are_those_of_the_default_pack():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "floating_point.md").read_text(encoding="utf-8")
    vectors = qk.load_vectors()
    for name in ("CMP", "VickreyCMP", "Mahalanobis", "VickreyMhl"):
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert row.split("|")[3].strip() == f"{noise_error(qk.mechanism(f'{name}@10', vectors=vectors)):.2g}"


def test_it_is_said_in_words():
    vectors = vocabulary(30, 5)
    assert "sends another one than the ideal mechanism with probability" in in_words(CMP(epsilon=5, vectors=vectors))
    assert f"off by {table_error(30):.2g}" in in_words(qk.mechanism("SanText@5", vectors=vectors))
    assert "sampled exactly" in in_words(qk.mechanism("SanText(exact=True)@5", vectors=vectors))
    assert in_words(qk.mechanism("Identity")) == ""

    class Mine(CMP):
        """A plugin: whatever is proved of CMP need not hold for it."""

    assert in_words(Mine(epsilon=5, vectors=vectors)) == ""


def test_a_table_of_weights_is_off_by_less_than_its_bound():
    """What the inverse transform gives each row, in numbers of 53 bits, against the law of the table."""
    from quipukit.mechanisms.sampling import invert

    logs = -np.random.default_rng(3).gamma(2, 2, 300)
    weights = np.exp(logs - logs.max())
    share = np.cumsum(weights.astype(np.longdouble)) / weights.astype(np.longdouble).sum()
    worst = 0.0
    for row in range(0, 299, 7):
        low, high = 0, 2**53
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if invert(weights, np.array([middle / 2**53]))[0] > row else (middle + 1, high)
        worst = max(worst, abs(float(low / np.longdouble(2**53) - share[row])))
    assert 0 < worst < table_error(300) / 2
