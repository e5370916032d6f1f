"""What comes out, counted: exact cell probabilities of every mechanism with a known law, and wrong twins.

Draws go through `obfuscate`, so tokenising, batching, search and joining are all part of what is tested. False-alarm
rate: 1e-6 a check over the choice of its seed (seeds are fixed). Cells here expect 50 draws or more, where that rate
stands for at most 4e-6.
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special, stats

from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.custext import CusText
from quipukit.mechanisms.mahalanobis import Mahalanobis
from quipukit.mechanisms.random import Random
from quipukit.mechanisms.sampling import Place
from quipukit.mechanisms.santext import SanText, SanTextPlus
from quipukit.mechanisms.tem import TEM
from quipukit.mechanisms.vickrey import VickreyCMP, VickreyMhl
from quipukit.mechanisms.wbb import WBB
from quipukit.vectors.store import Vectors
from tests.examples import slowly
from tests.stat_checks import assert_binomial, assert_chi2, refuted

pytestmark = pytest.mark.statistical

DRAWS = 100_000
FEW = 40_000  # enough for a twin that is far off
LINE = np.array([0.0, 1.0, 3.0])
line = Vectors(["zero", "one", "three"], LINE[:, None])


def counts(mechanism: Mechanism, word: str, draws: int = DRAWS, seed: int = 1) -> np.ndarray:
    """Obfuscate a word many times; count what comes out, in the order of the vocabulary."""
    length = min(1000, draws)
    texts = mechanism.obfuscate(" ".join([word] * length), draws // length, np.random.default_rng(seed))
    found = Counter(token for text in texts for token in text.split())
    assert sum(found.values()) == draws
    return np.array([found[word] for word in mechanism.vectors.words])


def check(mechanism: Mechanism, word: str, law, draws: int = DRAWS, seed: int = 1) -> None:
    assert_chi2(counts(mechanism, word, draws, seed), law, smallest=50)


# --- references, independent of the code under test --------------------------------------------------------------


def flip(n: int, b: float) -> float:
    """G_n(b) = P(Y U_1 > b), Y ~ Gamma(n, 1), U_1 a coordinate of a uniform direction."""

    def tail(y: float) -> float:
        return stats.gamma.pdf(y, n) * special.betainc((n - 1) / 2, 0.5, 1 - (b / y) ** 2) / 2

    if n == 1:
        return math.exp(-b) / 2
    # Almost all of Gamma(n, 1) lies within 40 standard deviations; the rest is below any accuracy used here.
    high = n + 40 * math.sqrt(n) + 40
    return integrate.quad(tail, b, max(high, 2 * b), limit=500, points=[max(b, n)], epsabs=1e-12)[0]


def vickrey_line(x: float, epsilon: float, t: float) -> np.ndarray:
    """The exact law of VickreyCMP on the line, by integration over the noisy point."""
    law = np.zeros(len(LINE))

    def first_wins(v: float) -> float:
        d1, d2 = np.sort(np.abs(LINE - v))[:2]
        return (1 - t) * d2 / (t * d1 + (1 - t) * d2)

    def density(v: float) -> float:
        return epsilon / 2 * math.exp(-epsilon * abs(v - x))

    # Between these points the order of the words does not change and the density is smooth.
    middles = [(a + b) / 2 for i, a in enumerate(LINE) for b in LINE[i + 1 :]]
    cuts = sorted({*middles, *LINE, x, x - 60 / epsilon, x + 60 / epsilon})
    for left, right in itertools.pairwise(cuts):
        near = np.argsort(np.abs(LINE - (left + right) / 2))
        mass = integrate.quad(density, left, right, epsabs=1e-13)[0]
        first = integrate.quad(lambda v: density(v) * first_wins(v), left, right, epsabs=1e-13)[0]
        law[near[0]] += first
        law[near[1]] += mass - first
    return law


def cmp_line(x: float, epsilon: float) -> np.ndarray:
    """The exact law of CMP on the line: Laplace noise cut at the middles between words."""
    cuts = stats.laplace(x, 1 / epsilon).cdf((LINE[1:] + LINE[:-1]) / 2)
    return np.diff([0, *cuts, 1])


def exponential(exponents: np.ndarray) -> np.ndarray:
    weights = np.exp(exponents - exponents.max())
    return weights / weights.sum()


@pytest.mark.parametrize(
    ("n", "b", "expected", "tolerance"),
    [
        (2, 1.5, 0.158175, 5e-7),
        (3, 1.5, 0.195239, 5e-7),
        (50, 10, 0.079705, 5e-7),
        (300, 10, 0.281743, 5e-7),
        (300, 50, 0.0020551, 5e-8),
    ],
)
def test_reference_flip_probabilities(n, b, expected, tolerance):
    assert flip(n, b) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("b", [0.1, 1.5, 7.0])
def test_reference_flip_probability_has_its_closed_forms(b):
    assert flip(3, b) == pytest.approx(math.exp(-b) * (2 + b) / 4, abs=1e-9)
    assert flip(200, b) == pytest.approx(stats.norm.cdf(-b / math.sqrt(201)), abs=2e-3)


def test_reference_laws_of_the_line_are_the_golden_ones():
    np.testing.assert_allclose(cmp_line(0, 1), (0.696735, 0.235598, 0.067668), atol=1e-6)
    np.testing.assert_allclose(vickrey_line(0, 1, 0.75), (0.444324, 0.492695, 0.062981), atol=1e-6)
    np.testing.assert_allclose(vickrey_line(0, 1, 0.0), cmp_line(0, 1), atol=1e-9)


# --- perturbation: cells of the line -----------------------------------------------------------------------------


@pytest.mark.parametrize(("word", "x"), [("zero", 0.0), ("one", 1.0), ("three", 3.0)])
def test_cmp_cells(word, x):
    # On a line there is one ellipsoid, so Mahalanobis has the same law.
    cls = Mahalanobis if word == "one" else CMP
    check(cls(epsilon=1, vectors=line), word, cmp_line(x, 1))


def test_cmp_cells_of_wrong_mechanisms_are_refuted():
    law = (0.696735, 0.235598, 0.067667)
    assert_chi2(counts(CMP(epsilon=1, vectors=line), "zero"), law)
    assert refuted(check, CMP(epsilon=2, vectors=line), "zero", law, FEW)
    assert refuted(check, CMP(epsilon=1.05, vectors=line), "zero", law)
    assert refuted(check, VickreyCMP(epsilon=1, vectors=line), "zero", law, FEW)
    assert refuted(check, SanText(epsilon=1, vectors=line), "zero", law, FEW)


@pytest.mark.parametrize("t", [0.25, 0.75, *slowly(1.0)])
@pytest.mark.parametrize(("word", "x"), [("one", 1.0), *slowly(("zero", 0.0))])
def test_vickrey_cells(word, x, t):
    cls = VickreyMhl if t == 0.25 else VickreyCMP  # on a line they have one law
    check(cls(epsilon=1, t=t, vectors=line), word, vickrey_line(x, 1, t))


def test_vickrey_cells_of_wrong_mechanisms_are_refuted():
    @dataclass(frozen=True, kw_only=True)
    class Swapped(VickreyCMP):
        """Takes the second nearest for the nearest: what an unsorted partition would do."""

        def choose(self, found, distance, coins):
            return super().choose(found[:, ::-1], distance[:, ::-1], coins)

    @dataclass(frozen=True, kw_only=True)
    class Inverted(VickreyCMP):
        """Takes the coin the wrong way round."""

        def choose(self, found, distance, coins):
            return super().choose(found[:, ::-1], distance, coins)

    law = (0.444324, 0.492695, 0.062981)
    check(VickreyCMP(epsilon=1, vectors=line), "zero", law)
    assert refuted(check, Swapped(epsilon=1, vectors=line), "zero", law, FEW)
    assert refuted(check, Inverted(epsilon=1, vectors=line), "zero", law, FEW)
    assert refuted(check, VickreyCMP(epsilon=1, t=0.7, vectors=line), "zero", law)
    assert refuted(check, VickreyCMP(epsilon=1.1, vectors=line), "zero", law)


# --- perturbation: flips between two words ------------------------------------------------------------------------


def pair(n: int, distance: float) -> Vectors:
    """Two words at a distance, along a direction that is no axis."""
    direction = np.arange(1.0, n + 1) / np.linalg.norm(np.arange(1.0, n + 1))
    return Vectors(["here", "there"], np.vstack([0 * direction, distance * direction]) + 1)


@pytest.mark.parametrize(
    ("n", "distance", "epsilon", "draws"),
    [(2, 1.5, 2, DRAWS), (300, 2, 10, 20_000), *slowly((3, 1.5, 2, DRAWS), (50, 2, 10, 40_000))],
)
def test_cmp_flip(n, distance, epsilon, draws):
    vectors, law = pair(n, distance), flip(n, epsilon * distance / 2)
    flips = counts(CMP(epsilon=epsilon, vectors=vectors), "here", draws)[1]
    assert_binomial(int(flips), draws, law)
    wrong = counts(CMP(epsilon=2 * epsilon, vectors=vectors), "here", draws)[1]
    assert refuted(assert_binomial, int(wrong), draws, law)


def golden(axis: int) -> Vectors:
    """Two words at distance 1.5 along an axis, and six so far away that only the covariance notices them.

    The far ones make the covariance proportional to diag(2, 0.8, 0.2), the pair's own share taken off.
    """
    shares = 1e6 * np.array([2.0, 0.8, 0.2])
    shares[axis] -= 0.75**2
    far = np.diag(np.sqrt(shares))
    near = 0.75 * np.eye(3)[axis]
    return Vectors(["here", "there", *"abcdef"], np.vstack([-near, near, far, -far]))


@pytest.mark.parametrize(
    ("axis", "right", "renormalized", "many"),
    [
        pytest.param(0, 0.25210, 0.257, 600_000, marks=pytest.mark.slow),
        pytest.param(1, 0.17820, 0.187, 200_000, marks=pytest.mark.slow),
        (2, 0.10199, 0.124, DRAWS),
    ],
)
def test_mahalanobis_flip(axis, right, renormalized, many):
    @dataclass(frozen=True, kw_only=True)
    class Renormalized(Mahalanobis):
        """Divides A u by its norm, as released code does."""

        def stretch(self, directions):
            stretched = super().stretch(directions)
            return stretched / np.linalg.norm(stretched, axis=1, keepdims=True)

    vectors = golden(axis)
    spread = 0.75 * np.array([2.0, 0.8, 0.2])[axis] + 0.25
    law = flip(3, 2 * 1.5 / (2 * math.sqrt(spread)))
    assert law == pytest.approx(right, abs=5e-6)
    found = counts(Mahalanobis(epsilon=2, lam=0.75, vectors=vectors), "here")
    assert found[2:].sum() == 0
    assert_binomial(int(found[1]), DRAWS, law)

    # On the long axis the two laws are 3.5 standard errors apart at DRAWS; more draws make the twin's failure sure.
    wrong = counts(Renormalized(epsilon=2, lam=0.75, vectors=vectors), "here", many)[1]
    assert refuted(assert_binomial, int(wrong), many, law)
    assert wrong / many == pytest.approx(renormalized, abs=0.004)
    sphere = counts(CMP(epsilon=2, vectors=vectors), "here")[1]
    assert refuted(assert_binomial, int(sphere), DRAWS, law)


def test_small_epsilon_gives_the_corners_and_not_uniform_words():
    # With eps -> 0 a word of the plane wins with its share of the circle: (pi - inner angle) / (2 pi) at a corner of
    # the hull, and never inside it.
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    vectors = Vectors(["right", "east", "north", "inside"], np.vstack([corners, [[0.2, 0.2]]]))
    law = np.array([math.pi / 2, math.pi * 3 / 4, math.pi * 3 / 4, 0]) / (2 * math.pi)
    check(CMP(epsilon=1e-6, vectors=vectors), "inside", law)
    assert refuted(check, Random(vectors=vectors), "inside", law, FEW)


# --- sampling: the whole vocabulary ------------------------------------------------------------------------------


@functools.cache
def cloud() -> Vectors:
    rng = np.random.default_rng(60)
    # No stop words among them: WBB leaves those out of its boxes.
    words = [f"x{a}{b}" for a in "bcdfgh" for b in ("ab", "ec", "id", "of", "ug", "al", "em", "in", "op", "ur")]
    return Vectors(words, rng.standard_normal((60, 8)) / 2)


def gaps(vectors: Vectors, row: int) -> np.ndarray:
    rows = vectors.matrix.astype(np.float64)
    return np.sqrt(np.square(rows - rows[row]).sum(axis=1))


def santext_law(vectors: Vectors, row: int, epsilon: float) -> np.ndarray:
    return exponential(-epsilon / 2 * gaps(vectors, row))


def tem_law(vectors: Vectors, row: int, epsilon: float, gamma: float) -> np.ndarray:
    return exponential(-epsilon / 2 * np.minimum(gaps(vectors, row), gamma))


def gumbel_tem(distances: np.ndarray, epsilon: float, gamma: float, draws: int, rng) -> np.ndarray:
    """The algorithm as published: Gumbel noise on every near word and on one bottom element; counts of words."""
    near, far = np.flatnonzero(distances <= gamma), np.flatnonzero(distances > gamma)
    scores = -distances[near]
    if len(far):
        scores = np.append(scores, -gamma + 2 / epsilon * math.log(len(far)))
    winners = (scores + rng.gumbel(0, 2 / epsilon, (draws, len(scores)))).argmax(axis=1)
    bottom = winners == len(near)
    words = near[winners[~bottom]]
    if len(far):
        words = np.concatenate([words, rng.choice(far, int(bottom.sum()))])
    return np.bincount(words, minlength=len(distances))


def test_santext_cells():
    golden_law = (0.705385, 0.259496, 0.035119)
    check(SanText(epsilon=2, vectors=line), "zero", golden_law)
    assert refuted(check, SanText(epsilon=4, vectors=line), "zero", golden_law, FEW)
    assert refuted(check, SanText(epsilon=2.1, vectors=line), "zero", golden_law)

    for row in (0, 17, 59):
        check(SanText(epsilon=3, vectors=cloud()), cloud().words[row], santext_law(cloud(), row, 3))
    # Without the factor 1/2; and the law of another word.
    assert refuted(check, SanText(epsilon=3, vectors=cloud()), cloud().words[17], santext_law(cloud(), 17, 6), FEW)
    assert refuted(check, SanText(epsilon=3, vectors=cloud()), cloud().words[17], santext_law(cloud(), 18, 3), FEW)


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_santext_plus_cells(p):
    vectors, epsilon = cloud(), 3.0
    rare = np.arange(60) >= 30

    def law(row: int) -> np.ndarray:
        replaced = np.where(rare, np.exp(-epsilon / 2 * gaps(vectors, row)), 0)
        replaced /= replaced.sum()
        return replaced if rare[row] else p * replaced + (1 - p) * (np.arange(60) == row)

    mechanism = SanTextPlus(epsilon=epsilon, p=p, vectors=vectors)
    check(mechanism, vectors.words[45], law(45))
    if p == 0:
        found = counts(mechanism, vectors.words[5], 10_000)
        assert found[5] == 10_000
    else:
        check(mechanism, vectors.words[5], law(5))
        wrong = SanTextPlus(epsilon=epsilon, p=0.9 * p, vectors=vectors)
        assert refuted(check, wrong, vectors.words[5], law(5))
    assert refuted(check, SanText(epsilon=epsilon, vectors=vectors), vectors.words[45], law(45), FEW)


def test_tem_cells():
    golden_law = (0.628532, 0.231224, 0.140244)
    check(TEM(epsilon=2, gamma=1.5, vectors=line), "zero", golden_law)
    assert refuted(check, TEM(epsilon=4, gamma=1.5, vectors=line), "zero", golden_law, FEW)
    assert refuted(check, TEM(epsilon=2, gamma=1.6, vectors=line), "zero", golden_law)
    assert refuted(check, SanText(epsilon=2, vectors=line), "zero", golden_law, FEW)


@pytest.mark.parametrize("gamma", [0.0, 1.8, *slowly(1.0, 2.5, 5.0)])
def test_tem_three_ways(gamma):
    # Sampled, in closed form, and by the published algorithm with a Gumbel number for each word.
    vectors, row, epsilon = cloud(), 17, 3.0
    law = tem_law(vectors, row, epsilon, gamma)
    check(TEM(epsilon=epsilon, gamma=gamma, vectors=vectors), vectors.words[row], law)
    explicit = gumbel_tem(gaps(vectors, row), epsilon, gamma, 100_000, np.random.default_rng(3))
    assert_chi2(explicit, law, smallest=50)
    # Gumbel noise of scale 1/epsilon instead of 2/epsilon is twice the epsilon.
    assert refuted(check, TEM(epsilon=2 * epsilon, gamma=gamma or 0.5, vectors=vectors), vectors.words[row], law, FEW)


def test_tem_bottom_with_a_quotient_is_refuted():
    # |V \ L| read as |V| / |L|, as released code has it: far words get too little.
    vectors, row, epsilon, gamma = cloud(), 17, 3.0, 1.8
    distances = gaps(vectors, row)
    near = distances <= gamma
    weights = np.where(near, np.exp(-epsilon / 2 * distances), 0)
    quotient = len(distances) / near.sum() * math.exp(-epsilon / 2 * gamma)
    weights[~near] = quotient / (~near).sum()
    found = counts(TEM(epsilon=epsilon, gamma=gamma, vectors=vectors), vectors.words[row])
    assert_chi2(found, tem_law(vectors, row, epsilon, gamma), smallest=50)
    assert refuted(assert_chi2, found, weights / weights.sum(), smallest=50)


@pytest.mark.parametrize("beta", [0.3, 0.05])
def test_tem_far_words_are_rarer_than_beta(beta):
    vectors, row = cloud(), 17
    for epsilon in (3.0, 6.0, 10.0):
        mechanism = TEM(epsilon=epsilon, beta=beta, vectors=vectors)
        gamma = max(0.0, 2 / epsilon * math.log((1 - beta) * 59 / beta))
        assert mechanism.truncation == pytest.approx(gamma, rel=1e-12)
        found = counts(mechanism, vectors.words[row], 50_000)
        far = int(found[gaps(vectors, row) > gamma].sum())
        # One-sided, false alarms at most 1e-6: the exact probability is at most beta.
        assert stats.binom.sf(far - 1, 50_000, beta) >= 1e-6
    # Half of that gamma breaks the promise, and the test would notice.
    broken = counts(TEM(epsilon=10.0, gamma=gamma / 2, vectors=vectors), vectors.words[row], 50_000)
    far = int(broken[gaps(vectors, row) > gamma / 2].sum())
    assert stats.binom.sf(far - 1, 50_000, beta) < 1e-6


def test_random_cells():
    check(Random(vectors=cloud()), cloud().words[3], np.full(60, 1 / 60))
    assert refuted(check, SanText(epsilon=0.2, vectors=cloud()), cloud().words[3], np.full(60, 1 / 60))


# --- sampling: small sets ----------------------------------------------------------------------------------------


def custext_law(vectors: Vectors, row: int, rows: np.ndarray, epsilon: float) -> np.ndarray:
    distances = gaps(vectors, row)[rows]
    scores = (distances.max() - distances) / (distances.max() - distances.min())
    law = np.zeros(len(vectors))
    law[rows] = exponential(epsilon / 2 * scores)
    return law


def test_custext_cells():
    golden_law = (0.479752, 0.343757, 0.176491)
    for mapping in ("groups", "topk"):
        check(CusText(epsilon=2, k=3, mapping=mapping, vectors=line), "zero", golden_law)
    assert refuted(check, CusText(epsilon=4, k=3, vectors=line), "zero", golden_law, FEW)
    assert refuted(check, CusText(epsilon=2.1, k=3, vectors=line), "zero", golden_law)


def test_custext_cells_of_a_cloud():
    vectors, row = cloud(), 40
    nearest = np.argsort(gaps(vectors, row), kind="stable")[:10]
    topk = custext_law(vectors, row, nearest, 5)
    check(CusText(epsilon=5, mapping="topk", vectors=vectors), vectors.words[row], topk)

    groups = CusText(epsilon=5, vectors=vectors)
    members = groups.grouping.members[groups.grouping.group_of[row]]
    assert row in members
    law = custext_law(vectors, row, members, 5)
    check(groups, vectors.words[row], law)
    # The two mappings differ, and so does the peer's cosine branch, which takes the least similar words.
    assert refuted(check, CusText(epsilon=5, mapping="topk", vectors=vectors), vectors.words[row], law, FEW)
    assert refuted(check, CusText(epsilon=5, k=11, mapping="topk", vectors=vectors), vectors.words[row], topk, FEW)


def test_custext_cosine_takes_the_most_similar():
    vectors, row = cloud(), 40
    rows = vectors.matrix.astype(np.float64)
    cosine = rows @ rows[row] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[row])
    near = np.argsort(-cosine, kind="stable")[:10]
    law = np.zeros(60)
    law[near] = exponential(5 / 2 * (cosine[near] - cosine[near].min()) / (cosine[near].max() - cosine[near].min()))
    mechanism = CusText(epsilon=5, mapping="topk", similarity="cosine", vectors=vectors)
    check(mechanism, vectors.words[row], law)
    far = np.argsort(cosine, kind="stable")[:10]
    wrong = np.zeros(60)
    wrong[far] = law[near]
    assert refuted(check, mechanism, vectors.words[row], wrong, FEW)


def angles(vectors: Vectors, row: int) -> np.ndarray:
    rows = vectors.matrix.astype(np.float64)
    return 1 - rows @ rows[row] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[row])


MEASURES: dict[str, Callable[[Vectors, int], np.ndarray]] = {
    "angle": angles,
    "euclidean": gaps,
    "product": lambda vectors, row: angles(vectors, row) * gaps(vectors, row),
}


def wbb_box(vectors: Vectors, row: int, measure: str, k: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    found = MEASURES[measure](vectors, row)
    ranked = np.argsort(found, kind="stable")
    assert ranked[0] == row
    box = ranked[k : k + n]
    return box, found[box]


@pytest.mark.parametrize("measure", MEASURES)
def test_wbb_cells_exponential(measure):
    vectors, row, epsilon = cloud(), 17, 8.0
    mechanism = WBB(epsilon=epsilon, k=4, measure=measure, all_tokens=True, vectors=vectors)
    box, distances = wbb_box(vectors, row, measure, 4, 15)
    law = np.zeros(60)
    law[box] = exponential(epsilon / 2 * special.expit((distances.mean() - distances) / distances.std()))
    check(mechanism, vectors.words[row], law)
    doubled = WBB(epsilon=2 * epsilon, k=4, measure=measure, all_tokens=True, vectors=vectors)
    assert refuted(check, doubled, vectors.words[row], law, FEW)
    # A sigmoid that rises with distance, as released code has it, prefers far words.
    wrong = np.zeros(60)
    wrong[box] = exponential(epsilon / 2 * special.expit((distances - distances.mean()) / distances.std()))
    assert refuted(check, mechanism, vectors.words[row], wrong, FEW)


@pytest.mark.parametrize("epsilon", [1.0, 50.0])
def test_wbb_cells_published(epsilon):
    # Mean and spread are those of the boxes of all words of the query; epsilon cancels.
    vectors, rows = cloud(), [17, 30, 4]
    boxes = [wbb_box(vectors, row, "angle", 2, 15) for row in rows]
    joined = np.concatenate([distances for _, distances in boxes])

    def law(position: int, center: float, spread: float) -> np.ndarray:
        box, distances = boxes[position]
        cells = np.zeros(60)
        cells[box] = special.expit((center - distances) / spread)
        return cells / cells.sum()

    mechanism = WBB(epsilon=epsilon, mode="published", all_tokens=True, vectors=vectors)
    query = " ".join(vectors.words[row] for row in rows)
    texts = mechanism.obfuscate(query, DRAWS // 4, np.random.default_rng(5))
    columns = [Counter(column) for column in zip(*(text.split() for text in texts), strict=True)]
    found = [np.array([column[word] for word in vectors.words]) for column in columns]
    for position in range(3):
        assert_chi2(found[position], law(position, joined.mean(), joined.std()), smallest=50)
    # The boxes differ in scale, so reading each by its own scale is another law for at least one of them.
    own = [refuted(assert_chi2, found[i], law(i, d.mean(), d.std()), smallest=50) for i, (_, d) in enumerate(boxes)]
    assert any(own)


# --- unknown words ------------------------------------------------------------------------------------------------


def test_unknown_words_stand_at_the_mean():
    # The mean of the line is 4/3: laws of a word there, which is none of the vocabulary.
    check(CMP(epsilon=1, vectors=line), "unknown", cmp_line(4 / 3, 1), FEW)
    check(VickreyCMP(epsilon=1, vectors=line), "unknown", vickrey_line(4 / 3, 1, 0.75), FEW)
    distances = np.abs(LINE - 4 / 3)
    check(SanText(epsilon=2, vectors=line), "unknown", exponential(-distances), FEW)
    check(TEM(epsilon=2, gamma=1.5, vectors=line), "unknown", exponential(-np.minimum(distances, 1.5)), FEW)
    scores = (distances.max() - distances) / (distances.max() - distances.min())
    check(CusText(epsilon=2, k=3, vectors=line), "unknown", exponential(scores), FEW)
    assert refuted(check, CMP(epsilon=1, vectors=line), "unknown", cmp_line(1, 1), FEW)
    assert refuted(check, SanText(epsilon=2, vectors=line), "unknown", exponential(-np.abs(LINE - 1)), FEW)


@pytest.mark.parametrize("cls", [CMP, VickreyCMP, SanText, TEM, CusText])
def test_uniform_policy(cls):
    options = {"k": 3} if cls is CusText else {}
    mechanism = cls(epsilon=2, oov="uniform", vectors=line, **options)
    check(mechanism, "unknown", np.full(3, 1 / 3), draws=60_000)
    assert refuted(check, cls(epsilon=2, vectors=line, **options), "unknown", np.full(3, 1 / 3), draws=60_000)


def test_gaussian_policy_is_fresh_at_each_occurrence():
    # Base vector N(0, 1), then Laplace noise: the law of a sum, by integration.
    def below(cut: float) -> float:
        return integrate.quad(lambda v: stats.norm.pdf(v) * stats.laplace.cdf(cut - v), -12, 12, epsabs=1e-12)[0]

    law = np.diff([0, below(0.5), below(2.0), 1])
    check(CMP(epsilon=1, oov="gaussian", vectors=line), "unknown", law, FEW)
    assert refuted(check, CMP(epsilon=1, vectors=line), "unknown", law, FEW)

    def sampled(v: float) -> np.ndarray:
        return exponential(-np.abs(LINE - v))

    law = np.array(
        [
            integrate.quad(lambda v, i=i: stats.norm.pdf(v) * sampled(v)[i], -12, 12, points=list(LINE), limit=200)[0]
            for i in range(3)
        ]
    )
    draws = 8_000
    check(SanText(epsilon=2, oov="gaussian", vectors=line), "unknown", law / law.sum(), draws)
    # One frozen vector for all occurrences, as released code caches it, is another law.
    frozen = SanText(epsilon=2, vectors=line)
    uniforms = np.random.default_rng(6).random(draws)
    rows = frozen.sample(frozen.neighborhood(Place(np.array([0.4]), -1)), uniforms)
    assert refuted(assert_chi2, np.bincount(rows, minlength=3), law / law.sum(), smallest=50)


def test_subword_policy_stands_where_the_parts_say():
    vectors = Vectors(line.words, line.matrix, compose=lambda word: np.array([2.5]) if word == "partly" else None)
    check(CMP(epsilon=1, oov="subword", vectors=vectors), "partly", cmp_line(2.5, 1), FEW)
    check(SanText(epsilon=2, oov="subword", vectors=vectors), "partly", exponential(-np.abs(LINE - 2.5)), FEW)
    # A string without a known part falls back to the mean, and is not sent as it is.
    check(CMP(epsilon=1, oov="subword", vectors=vectors), "opaque", cmp_line(4 / 3, 1), FEW)
    assert refuted(check, CMP(epsilon=1, oov="subword", vectors=vectors), "partly", cmp_line(4 / 3, 1), FEW)
