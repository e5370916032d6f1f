"""CMP, Mahalanobis and the Vickrey variants: choices, extremes and degenerate vocabularies.

Statistical checks state their false-alarm rate; the laws themselves are in tests/statistical.
"""

import functools

import numpy as np
import pytest
import threadpoolctl
from hypothesis import example, given
from hypothesis import strategies as st

from quipukit.errors import NoClosedForm, SpecError
from quipukit.guarantees import MetricDP, NoGuarantee
from quipukit.mechanisms import perturbation
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.mahalanobis import Mahalanobis, ellipsoid
from quipukit.mechanisms.vickrey import VickreyCMP, VickreyMhl, acceptance
from quipukit.obfuscation import obfuscate
from quipukit.vectors import nearest
from quipukit.vectors.store import Vectors
from tests.examples import examples
from tests.stat_checks import assert_binomial, refuted

ALL = [CMP, Mahalanobis, VickreyCMP, VickreyMhl]


@functools.cache
def cloud() -> Vectors:
    rng = np.random.default_rng(40)
    return Vectors([f"w{i}" for i in range(40)], rng.standard_normal((40, 6)) * np.linspace(0.5, 1.5, 6))


QUERY = " ".join(cloud().words)


# --- extremes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [CMP, Mahalanobis])
def test_a_huge_epsilon_changes_nothing(cls):
    assert set(cls(epsilon=1e6, vectors=cloud()).obfuscate(QUERY, 50)) == {QUERY}


@pytest.mark.parametrize("cls", [VickreyCMP, VickreyMhl])
def test_with_a_huge_epsilon_the_word_returns_for_every_t_below_1(cls):
    # d1 -> 0, so the nearest wins almost surely; at t = 1 it never does.
    texts = cls(epsilon=1e6, t=0.75, vectors=cloud()).obfuscate(QUERY, 20, np.random.default_rng(1))
    same = sum(a == b for text in texts for a, b in zip(text.split(), cloud().words, strict=True))
    assert same >= 0.99 * 20 * 40
    texts = cls(epsilon=1e6, t=1, vectors=cloud()).obfuscate(QUERY, 20, np.random.default_rng(1))
    assert not any(a == b for text in texts for a, b in zip(text.split(), cloud().words, strict=True))
    # What comes out instead is the nearest other word.
    exact = cloud().matrix.astype(np.float64)
    gaps = np.linalg.norm(exact[:, None] - exact[None], axis=2)
    np.fill_diagonal(gaps, np.inf)
    assert set(texts) == {" ".join(cloud().words[row] for row in gaps.argmin(axis=1))}


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("epsilon", [1e-6, 1e6])
def test_the_ends_of_the_range_are_allowed(cls, epsilon):
    texts = cls(epsilon=epsilon, vectors=cloud()).obfuscate(QUERY, 5, np.random.default_rng(2))
    assert {token for text in texts for token in text.split()} <= set(cloud().words)


def test_with_a_tiny_epsilon_the_word_does_not_matter():
    # One generator, two words: the noise drowns the difference between them.
    mechanism = CMP(epsilon=1e-6, vectors=cloud())
    one = mechanism.obfuscate("w3 w3 w3", 100, np.random.default_rng(3))
    assert mechanism.obfuscate("w30 w7 w12", 100, np.random.default_rng(3)) == one


# --- the second nearest -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("vickrey", "base"), [(VickreyCMP, CMP), (VickreyMhl, Mahalanobis)])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 1e6])
def test_t_0_is_the_base_mechanism(vickrey, base, epsilon):
    query = f"{QUERY} unknown"
    plain = base(epsilon=epsilon, vectors=cloud()).obfuscate(query, 20, np.random.default_rng(4))
    assert vickrey(epsilon=epsilon, t=0, vectors=cloud()).obfuscate(query, 20, np.random.default_rng(4)) == plain


@pytest.mark.parametrize("cls", [VickreyCMP, VickreyMhl])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_one_of_the_two_nearest_comes_out(cls, t, monkeypatch):
    seen = []
    search = nearest.nearest_two

    def record(*arguments):
        seen.append(search(*arguments))
        return seen[-1]

    monkeypatch.setattr(nearest, "nearest_two", record)
    mechanism = cls(epsilon=2, t=t, vectors=cloud())
    [text] = mechanism.obfuscate(QUERY, 1, np.random.default_rng(5))
    [(found, distance)] = seen
    sent = np.array([cloud().row(token) for token in text.split()])
    first, second = found[:, 0, 0], found[:, 0, 1]
    assert ((sent == first) | (sent == second)).all()
    assert (distance[:, 0, 0] <= distance[:, 0, 1]).all()
    if t == 0:
        assert (sent == first).all()
    if t == 1:
        assert (sent == second).all()


@pytest.mark.statistical
@pytest.mark.parametrize("t", [0.0, 0.25, 0.75, 1.0])
@pytest.mark.parametrize(("d1", "d2"), [(0.0, 0.0), (0.0, 2.0), (1.0, 1.0), (1.0, 3.0), (0.5, 5.0), (2.9, 3.0)])
def test_acceptance_at_a_fixed_point(d1, d2, t):
    # Frequency of the nearest against p by a binomial test; false-alarm rate 1e-6 a point of the grid.
    trials = 40_000
    p = 1 - t if d1 == d2 == 0 else ((1 - t) * d2 / (t * d1 + (1 - t) * d2) if t * d1 + (1 - t) * d2 else 1 - t)
    found = np.tile([7, 9], (trials, 1))
    distance = np.tile([d1, d2], (trials, 1))
    chosen = VickreyCMP(epsilon=1, t=t, vectors=cloud()).choose(
        found, distance, np.random.default_rng(6).random(trials)
    )
    assert set(chosen) <= {7, 9}
    hits = int((chosen == 7).sum())
    assert_binomial(hits, trials, p)
    # Wrong twins: the roles of the two distances, and of the two words, exchanged.
    for wrong in ((1 - t) * d1 / (t * d2 + (1 - t) * d1) if t * d2 + (1 - t) * d1 else p, 1 - p):
        if abs(wrong - p) > 0.05:
            assert refuted(assert_binomial, hits, trials, wrong)


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=1, max_size=20),
    st.floats(0, 1),
)
@example([(5e-324, 5e-324)], 0.75)
@examples(100)
def test_acceptance_is_a_probability(pairs, t):
    near, far = np.sort(np.array(pairs), axis=1).T
    p = acceptance(near, far, t)
    assert ((p >= 0) & (p <= 1)).all()
    # A nearer word is never worse off than at equal distances.
    assert (p >= (1 - t) * (1 - 1e-9)).all()
    if t == 0:
        assert (p == 1).all()
    if t == 1:
        assert (p == 0).all()


@pytest.mark.parametrize("cls", [VickreyCMP, VickreyMhl])
@pytest.mark.parametrize("t", [-0.1, 1.1, float("nan"), "half", None])
def test_another_t_is_refused(cls, t):
    with pytest.raises(SpecError, match="t must"):
        cls(epsilon=1, t=t, vectors=cloud())


# --- small and degenerate vocabularies -----------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [VickreyCMP, VickreyMhl])
@pytest.mark.parametrize("t", [0.0, 0.75, 1.0])
def test_one_and_two_words(cls, t):
    one = Vectors(["only"], [[3.0]])
    assert set(cls(epsilon=1, t=t, vectors=one).obfuscate("only other", 20)) == {"only only"}
    two = Vectors(["here", "there"], [[0.0], [1.0]])
    found = set(cls(epsilon=1, t=t, vectors=two).obfuscate("here", 200, np.random.default_rng(7)))
    assert found == {"here", "there"}


def test_twins_give_the_lower_row():
    twins = Vectors(["a", "b", "c", "d"], [[0.0], [1.0], [0.0], [1.0]])
    # c and d are never nearest before their twins a and b.
    assert set(CMP(epsilon=1, vectors=twins).obfuscate("d", 300, np.random.default_rng(8))) == {"a", "b"}


@pytest.mark.statistical
def test_twins_are_distinct_words_to_vickrey():
    # d1 = d2 whatever the noise, so the first twin has probability 1 - t. False-alarm rate 1e-6.
    twins = Vectors(["a", "b"], [[2.0, 1.0], [2.0, 1.0]])
    mechanism = VickreyCMP(epsilon=1, t=0.7, vectors=twins)
    [text] = mechanism.obfuscate(" ".join(["b"] * 20_000), 1, np.random.default_rng(9))
    firsts = text.split().count("a")
    assert_binomial(firsts, 20_000, 0.3)
    assert refuted(assert_binomial, firsts, 20_000, 0.7)


def test_the_output_does_not_depend_on_the_choice_of_axes(monkeypatch):
    # LAPACK may turn the sign of any eigenvector and, where eigenvalues meet, choose other ones altogether: two
    # machines, or two BLAS builds, do. The first two coordinates here have the same variance, to the last bit.
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-3, 3)], float)
    words = [f"w{i}" for i in range(len(corners))]
    eigh = np.linalg.eigh

    def turned(matrix):
        values, axes = eigh(matrix)
        axes = axes.copy()
        axes[:, 0], axes[:, 1] = (axes[:, 0] + axes[:, 1]) / np.sqrt(2), (axes[:, 0] - axes[:, 1]) / np.sqrt(2)
        axes[:, 2] *= -1
        np.testing.assert_allclose((axes * values) @ axes.T, matrix, atol=1e-12)  # as good a decomposition
        return values, axes

    def texts(cls):
        mechanism = cls(epsilon=3, vectors=Vectors(words, corners))
        factor = ellipsoid(mechanism.vectors, 1.0).factor
        return mechanism.obfuscate(" ".join(words), 50, np.random.default_rng(6)), factor

    for cls in (Mahalanobis, VickreyMhl):
        here, factor = texts(cls)
        np.testing.assert_allclose(factor, factor.T)
        with monkeypatch.context() as patch:
            patch.setattr(np.linalg, "eigh", turned)
            there, other = texts(cls)
        np.testing.assert_allclose(factor, other, atol=1e-12)
        assert here == there


def test_one_dimension_has_one_ellipsoid():
    line = Vectors(["a", "b", "c"], [[0.0], [1.0], [5.0]])
    assert ellipsoid(line, 1.0).factor == pytest.approx(np.array([[1.0]]))


@pytest.mark.parametrize("matrix", [[[1.0, 2.0]], [[1.0, 2.0]] * 3, [[0.0, 0.0]] * 2])
def test_a_vocabulary_without_a_shape_has_the_sphere(matrix):
    vectors = Vectors([f"w{i}" for i in range(len(matrix))], matrix)
    found = ellipsoid(vectors, 1.0)
    np.testing.assert_allclose(found.factor @ found.factor.T, np.eye(2))
    assert Mahalanobis(epsilon=1, vectors=vectors).obfuscate("w0", 3) == ["w0"] * 3


@pytest.mark.parametrize("cls", [Mahalanobis, VickreyMhl])
def test_a_flat_ellipsoid_warns_and_promises_nothing(cls):
    flat = Vectors(["a", "b", "c"], [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    with pytest.warns(UserWarning, match=r"flat .*lam"):
        mechanism = cls(epsilon=5, vectors=flat)
    assert isinstance(mechanism.guarantee, NoGuarantee)
    assert mechanism.euclidean_epsilon > 1e3
    # The noise stays in the plane of the words.
    noise = mechanism.noise(np.random.default_rng(10), 100)
    np.testing.assert_allclose(noise[:, 2], 0, atol=1e-6)
    # Mixed with the sphere it protects every pair again.
    mixed = cls(epsilon=5, lam=0.75, vectors=flat)
    assert mixed.guarantee == MetricDP(5, "mahalanobis, lam=0.75")
    assert mixed.euclidean_epsilon == pytest.approx(5 / np.sqrt(0.25), rel=1e-6)


@pytest.mark.parametrize("cls", [Mahalanobis, VickreyMhl])
def test_lambda_0_promises_the_euclidean_metric(cls):
    mechanism = cls(epsilon=5, lam=0, vectors=cloud())
    assert mechanism.guarantee == MetricDP(5, "euclidean")
    assert mechanism.euclidean_epsilon == 5


def test_the_euclidean_epsilon_is_the_looser_one():
    mechanism = Mahalanobis(epsilon=5, vectors=cloud())
    values = np.linalg.eigvalsh(ellipsoid(cloud(), 1.0).factor @ ellipsoid(cloud(), 1.0).factor.T)
    assert mechanism.euclidean_epsilon == pytest.approx(5 / np.sqrt(values.min()))
    assert mechanism.euclidean_epsilon > 5
    assert np.trace(ellipsoid(cloud(), 1.0).factor @ ellipsoid(cloud(), 1.0).factor.T) == pytest.approx(6)


@pytest.mark.parametrize("cls", [Mahalanobis, VickreyMhl])
@pytest.mark.parametrize("lam", [-0.1, 1.5, float("inf"), "1"])
def test_another_lambda_is_refused(cls, lam):
    with pytest.raises(SpecError, match="lam must"):
        cls(epsilon=1, lam=lam, vectors=cloud())


@pytest.mark.parametrize("cls", ALL)
def test_there_is_no_closed_form(cls):
    with pytest.raises(NoClosedForm, match=f"{cls.name} has no closed form"):
        cls(epsilon=1, vectors=cloud()).log_prob("w1", "w2")


# --- scale ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", ALL)
def test_epsilon_is_a_budget_per_unit_distance(cls):
    # Twice the distances at half the epsilon: the same choices. Powers of two keep the arithmetic the same.
    wide = Vectors(cloud().words, 4 * cloud().matrix)
    one = cls(epsilon=4, vectors=cloud()).obfuscate(QUERY, 10, np.random.default_rng(11))
    assert cls(epsilon=1, vectors=wide).obfuscate(QUERY, 10, np.random.default_rng(11)) == one
    assert cls(epsilon=4, vectors=wide).obfuscate(QUERY, 10, np.random.default_rng(11)) != one


def test_noise_families():
    def family(spec_class, **options):
        return spec_class(epsilon=3, vectors=cloud(), **options).noise_family

    assert family(CMP) == family(VickreyCMP) == family(VickreyCMP, t=0.1) == family(Mahalanobis, lam=0)
    assert family(Mahalanobis) == family(VickreyMhl) == family(VickreyMhl, t=0.1)
    assert len({family(CMP), family(Mahalanobis), family(Mahalanobis, lam=0.5), family(Mahalanobis, lam=0.25)}) == 4


@pytest.mark.parametrize("rows", [1, 7, 64, 100_000])
def test_noise_that_is_drawn_ahead_is_the_same_in_batches_of_any_size(monkeypatch, rows):
    """Variants that share one generator too: their noise is drawn in their order, whoever draws it."""
    rng = np.random.default_rng(3)
    vectors = Vectors([f"w{number}" for number in range(200)], rng.standard_normal((200, 6)))
    mechanism = CMP(epsilon=2, vectors=vectors, shuffle=True)
    queries = {"1": "w1 w2 w3 w4 w5", "2": "w6", "3": "", "4": "w7 w8"}

    def made() -> list[object]:
        alone = mechanism.obfuscate("w1 w2 w3", 40, np.random.default_rng(1))
        return [alone, obfuscate(queries, mechanism, 30, seed=1)["query"].tolist()]

    wanted = made()
    monkeypatch.setattr(perturbation, "_ROWS", rows)
    assert made() == wanted


# --- speed ----------------------------------------------------------------------------------------------------------


def test_noise_is_stretched_by_one_thread(monkeypatch):
    """The threads of a BLAS go on spinning after a product: it made a query as it is typed take twice as long."""
    counts = set()
    stretch = Mahalanobis.stretch

    def watched(self, directions):
        counts.update(each["num_threads"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas")
        return stretch(self, directions)

    monkeypatch.setattr(Mahalanobis, "stretch", watched)
    Mahalanobis(epsilon=10, vectors=cloud()).obfuscate(QUERY)
    assert counts == {1}
