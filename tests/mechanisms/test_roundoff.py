"""The lemmas behind the bounds of floating point, each against draws or exact arithmetic, and each with a twin."""

import functools
import itertools
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.mahalanobis import ellipsoid
from quipukit.mechanisms.perturbation import draw_noise
from quipukit.mechanisms.roundoff import UNIT, gaps, in_words, noise_error, table_error
from quipukit.numeric import shown_bound
from quipukit.vectors.nearest import nearest_two
from quipukit.vectors.store import Vectors
from tests.examples import slowly

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
@pytest.mark.parametrize("dimension", [1, 3, *slowly(2, 10)])
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
    """Norm, divisions, product and sum, against the same numbers in 80 bits; a thousandth of the bound is exceeded.

    Of the 48 units beside n / 2, five are for these; the others are for the numbers that NumPy draws (below).
    """
    dimension, epsilon, count = 200, 2.0, 400
    drawn = draw_noise(np.random.default_rng(1), count, dimension)
    raw = np.random.default_rng(1).standard_normal((count, dimension)).astype(np.longdouble)
    directions = raw / np.sqrt((raw**2).sum(axis=1, keepdims=True))
    base = np.random.default_rng(2).standard_normal(dimension)
    point = base + (drawn.radii / epsilon)[:, None] * drawn.directions
    exact = base.astype(np.longdouble) + (drawn.radii.astype(np.longdouble) / epsilon)[:, None] * directions
    off = np.sqrt(((point - exact) ** 2).sum(axis=1)).astype(float)
    radius = drawn.radii / epsilon
    bound = UNIT * (radius * (dimension / 2 + 5) + np.linalg.norm(base))
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


def test_variants_that_share_epsilon_have_the_bound_of_their_share():
    vectors = vocabulary(50, 20)
    shared = CMP(epsilon=10, vectors=vectors, budget="total")
    assert in_words(shared, 50) == in_words(CMP(epsilon=0.2, vectors=vectors)) != in_words(shared)


def test_uniform_words_add_their_own_rounding():
    vectors = vocabulary(50, 20)
    uniform = noise_error(CMP(epsilon=1, vectors=vectors, oov="uniform"))
    assert uniform - noise_error(CMP(epsilon=1, vectors=vectors)) == pytest.approx(100 * UNIT, rel=1e-3)
    one_place = Vectors(["a", "b"], [[1.0], [1.0]])
    assert noise_error(CMP(epsilon=1, vectors=one_place, oov="uniform")) == 4 * UNIT


def test_an_ellipsoid_that_rounding_may_have_flattened_has_no_bound():
    flat = Vectors(["a", "b", "c"], [[0.0, 0.0], [1.0, 1e-7], [2.0, 0.0]])
    with pytest.warns(UserWarning, match="flat"):
        one = qk.mechanism("Mahalanobis@1", vectors=flat)
    assert 0 < one._ellipsoid.smallest < 1e-13
    assert noise_error(one) == 1.0


def test_twins_count_as_one_place_and_one_place_cannot_be_missed():
    twins = Vectors(["a", "b", "c"], [[0.0], [0.0], [4.0]])
    assert gaps(twins).count == 2
    assert gaps(twins).least == pytest.approx(4)
    assert noise_error(CMP(epsilon=1, vectors=twins)) < 2e-12
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
        assert row.split("|")[3].strip() == shown_bound(noise_error(qk.mechanism(f"{name}@10", vectors=vectors)))


def test_it_is_said_in_words():
    vectors = vocabulary(30, 5)
    assert "sends another one than the ideal mechanism with probability" in in_words(CMP(epsilon=5, vectors=vectors))
    assert f"off by {shown_bound(table_error(30))} at most from that of the table" in in_words(
        qk.mechanism("SanText@5", vectors=vectors)
    )
    assert "sampled exactly" in in_words(qk.mechanism("SanText(exact=True)@5", vectors=vectors))
    assert in_words(qk.mechanism("Identity")) == ""

    composing = Vectors(vectors.words, vectors.matrix, compose=lambda word: np.ones(5))
    for oov in ("subword", "gaussian"):
        assert "for each word of the vocabulary, the" in in_words(CMP(epsilon=5, vectors=composing, oov=oov))
    assert "nothing is proved" in in_words(qk.mechanism("SanText(exact=True, oov='subword')@5", vectors=composing))

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


# --- the samplers of NumPy, on bits that are written down -----------------------------------------------------------

_R = Decimal("3.6541528853610087716454297203995")  # where the tail begins
_PI = Decimal("3.14159265358979323846264338327950288419716939937510")
_LAYERS = 256


class Script:
    """A generator whose next two numbers of 64 bits were chosen, by way of the state of SFC64."""

    def __init__(self) -> None:
        self._bits = np.random.SFC64(0)
        self.rng = np.random.Generator(self._bits)

    def set(self, first: int, second: int) -> None:
        # Returned are a + b + counter, and then, with b = 0, 9 c + counter.
        c = (second - 1) * pow(9, -1, 2**64) % 2**64
        state = {"state": np.array([first, 0, c, 0], np.uint64)}
        self._bits.state = {"bit_generator": "SFC64", "state": state, "has_uint32": 0, "uinteger": 0}

    @property
    def taken(self) -> int:
        return int(self._bits.state["state"]["state"][3])

    def threshold(self, first: int, draw: Callable[[], Any]) -> float:
        """Return the least uniform number, second of two, with which what the first one says is rejected; 1 if none."""
        low, high = 0, 2**53
        while low < high:
            middle = (low + high) // 2
            self.set(first, middle << 11)
            draw()
            low, high = (middle + 1, high) if self.taken == 2 else (low, middle)
        return low / 2**53


def bits_of_normal(layer: int, steps: int, negative: bool = False) -> int:
    """Return the 64 bits of a place in the ziggurat: a layer of 256, a sign, and one of 2^52 steps."""
    return layer | negative << 8 | steps << 9


@functools.cache
def ziggurat() -> tuple[list[Decimal], list[Decimal]]:
    """Return the widths of the layers and the densities at their ends, by their definition, to 28 digits."""
    with localcontext(prec=50):
        body, term = Decimal(0), _R
        for k in range(1, 150):
            body += term / (2 * k - 1)
            term *= -_R * _R / (2 * k)
        density = (-_R * _R / 2).exp()
        area = _R * density + (_PI / 2).sqrt() - body
        widths, heights = [_R], [density]
        while len(widths) < _LAYERS - 1:
            heights.append(heights[-1] + area / widths[-1])
            widths.append((-2 * heights[-1].ln()).sqrt())
        heights.append(heights[-1] + area / widths[-1])
        return [area / density, *reversed(widths)], heights[::-1]


def test_the_tables_of_numpy_are_as_far_off_as_was_counted():
    """Read out of the installed NumPy, against their definition: not right to the last bit, but nearly so."""
    widths, heights = ziggurat()
    assert abs(heights[0] - 1) < Decimal("1e-28")  # the layers fill the area: _R is right
    script, off = Script(), []
    for layer, width in enumerate(widths):
        script.set(bits_of_normal(layer, 2**51), 0)
        off.append(abs(float(Decimal(script.rng.standard_normal()) * 2 / width - 1)) / UNIT)
        inner = _R if layer == 0 else widths[layer - 1] if layer > 1 else Decimal(0)
        least = int(inner / width * 2**52)
        for steps, at_once in ((least - 15, True), (least + 15, False)):
            if steps >= 0:
                script.set(bits_of_normal(layer, steps), 0)
                script.rng.standard_normal()
                assert (script.taken == 1) == at_once
    assert 1 < np.mean(off) < 4
    assert 10 < max(off) < 70.5


def test_normal_numbers_are_rejected_wrongly_as_rarely_as_was_counted():
    """In the wedge of each layer, the probability of acceptance: NumPy's own, the ideal one, and what is allowed."""
    widths, heights = ziggurat()
    script, wrong, counted = Script(), 0.0, 0.0
    for layer in range(1, _LAYERS):
        inner = widths[layer - 1] if layer > 1 else Decimal(0)
        step, worst = float(heights[layer - 1] - heights[layer]), 0.0
        for part in (0.1, 0.5, 0.9):
            steps = int((inner + (widths[layer] - inner) * Decimal(part)) / widths[layer] * 2**52)
            script.set(bits_of_normal(layer, steps), 0)
            x = Decimal(script.rng.standard_normal())
            ideal = ((-x * x / 2).exp() - heights[layer]) / (heights[layer - 1] - heights[layer])
            found = script.threshold(bits_of_normal(layer, steps), script.rng.standard_normal)
            worst = max(worst, abs(float(Decimal(found) - ideal)) / UNIT)
        height, width = float(heights[layer - 1]), float(widths[layer])
        # Densities of the table 18 units, their difference 2 of itself, the sum 1, exp 4, its argument 3.5 width^2.
        bound = (18 + 1 + 4 + 3.5 * width**2) * height / step + 3
        assert worst <= bound
        share = float(1 - inner / widths[layer]) / _LAYERS
        wrong, counted = wrong + share * worst, counted + share * bound
    assert 1 < wrong < counted < 27
    # With the widths, the limits of the layers, the cells that they cut, and the sign in the tail; by acceptance.
    assert (counted + 3.73 + 1 + 2 + 1.02) / 0.993 < 35


def test_the_tail_of_normal_numbers_is_off_by_less_than_its_bound():
    script, off = Script(), []
    for uniform in np.random.default_rng(1).integers(0, 2**53, 300).tolist():
        script.set(bits_of_normal(0, 2**52 - 1), uniform << 11)
        drawn = script.rng.standard_normal()
        if script.taken == 3:  # neither rejected nor begun anew
            exact = _R - (1 - Decimal(uniform) / 2**53).ln() / _R
            off.append(abs(float(Decimal(abs(drawn)) / exact - 1)) / UNIT)
            assert drawn < 0  # bit 8 of the steps
    assert len(off) > 200
    assert 0.5 < max(off) < 5.7


@pytest.mark.parametrize("shape", [2, 5, 50, 384])
def test_gamma_numbers_are_off_and_rejected_wrongly_by_less_than_was_counted(shape):
    script, wrong, rng = Script(), [], np.random.default_rng(shape)
    b = Decimal(shape) - Decimal(1) / 3
    c = 1 / (9 * b).sqrt()
    while len(wrong) < 100:
        bits = int(rng.integers(0, 2**64, dtype=np.uint64))
        script.set(bits, 0)
        x = Decimal(script.rng.standard_normal())
        if script.taken > 1 or 1 + c * x <= 0:
            continue
        v = (1 + c * x) ** 3
        accepted = (x * x / 2 + b * (1 - v + v.ln())).exp()
        script.set(bits, 0)
        drawn = Decimal(script.rng.standard_gamma(shape))
        assert abs(float(drawn / (b * v) - 1)) <= (7.2 + 12.3 * float(abs(c * x) / (1 + c * x))) * UNIT
        found = script.threshold(bits, lambda: script.rng.standard_gamma(shape))
        wrong.append(abs(float(Decimal(found) - accepted)) / UNIT)
    assert 0.1 < np.mean(wrong) < 10 * math.sqrt(shape) + 110


@pytest.mark.parametrize("shape", [2, 3, 5, 10, 50, 384, 4096])
def test_what_was_counted_for_gamma_numbers(shape):
    """The mean over X of all roundings of the acceptance test, and that its shortcut lies below what it cuts short."""
    b = shape - 1 / 3
    c = 1 / math.sqrt(9 * b)
    x = np.linspace(max(-12, -1 / c + 1e-9), 12, 200_001)
    y, v = c * x, (1 + c * x) ** 3
    log = np.log(v)
    inside = b * (1 - v + log)
    h = x**2 / 2 + inside
    slope = 3 * b * (1 / (1 + y) - (1 + y) ** 2)  # of `inside`, by y
    off = (
        abs(x + c * slope) * (np.where(abs(x) > 3.65, 5.7, 1) * abs(x) + 7.9)  # X: rounding, fraction of a cell
        + abs(slope) * (4.1 * abs(y) + (1 + y))  # c, its product with X, the sum with 1
        + b * abs(1 - v) * 3  # two products of V, the difference
        + b * abs(log) * 4
        + abs(inside) * 3.2  # b, the sum, the product with b
        + x**2 / 2
        + abs(h) * 5  # the sum, and the logarithm of U
    )
    accepted, density = np.exp(h), np.exp(-(x**2) / 2)
    wrong = (density * (accepted * off + 7)).sum() / (density * accepted).sum()  # 7: the shortcut, the bits of U
    assert 8 * math.sqrt(shape) < wrong < 10 * math.sqrt(shape) + 110
    assert (h <= 1e-9).all()
    assert (1 - 0.0331 * x**4 <= accepted).all()
