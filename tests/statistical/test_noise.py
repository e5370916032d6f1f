"""The noise of the perturbation mechanisms follows its law; neighbors of that law are told apart.

Every test has a false-alarm rate of 1e-6 over the choice of its seed unless it says otherwise. Seeds are fixed,
so a passing test keeps passing; the rate says how surprising a failure after a change of the code would be.
"""

import functools

import numpy as np
import pytest
from scipy import stats

from quipukit.mechanisms import perturbation
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.mahalanobis import Mahalanobis, ellipsoid
from quipukit.mechanisms.vickrey import VickreyCMP, VickreyMhl
from quipukit.vectors import nearest
from quipukit.vectors.store import Vectors
from tests.examples import slowly
from tests.stat_checks import assert_binomial, assert_ks, refuted

pytestmark = pytest.mark.statistical

SAMPLES = 20_000
DIMENSIONS = (1, 3, 50, 300)
ALPHA = 1e-6


@functools.cache
def vocabulary(dimension: int) -> Vectors:
    """A vocabulary with a shape of its own: correlated coordinates of unlike spread, and a mean that is not 0."""
    rng = np.random.default_rng(dimension)
    mixing = rng.standard_normal((dimension, dimension)) / np.sqrt(dimension)
    spread = np.linspace(0.5, 2.0, dimension)
    rows = (rng.standard_normal((4 * dimension + 10, dimension)) * spread) @ (np.eye(dimension) + 0.5 * mixing) + 1
    return Vectors([f"w{i}" for i in range(len(rows))], rows)


def sigma(vectors: Vectors, lam: float) -> np.ndarray:
    """The ellipsoid's matrix from its definition, not from the code under test."""
    rows = vectors.matrix.astype(np.float64)
    covariance = np.cov(rows.T, bias=True).reshape(vectors.dimension, vectors.dimension)
    return lam * covariance * vectors.dimension / np.trace(covariance) + (1 - lam) * np.eye(vectors.dimension)


def whitened(vectors: Vectors, lam: float, noise: np.ndarray) -> np.ndarray:
    """L^-1 Z with the test's own factor L of Sigma: for every factor A, L^-1 A is a rotation."""
    return noise @ np.linalg.inv(np.linalg.cholesky(sigma(vectors, lam))).T


def unit(points: np.ndarray) -> np.ndarray:
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def gamma(dimension: int, epsilon: float):
    return stats.gamma(dimension, scale=1 / epsilon).cdf


# --- directions -------------------------------------------------------------------------------------------------


def assert_coordinate(directions: np.ndarray, alpha: float = ALPHA) -> None:
    """(u_k + 1) / 2 ~ Beta((n - 1) / 2, (n - 1) / 2) for the first, the middle and the last coordinate."""
    n = directions.shape[1]
    law = stats.beta((n - 1) / 2, (n - 1) / 2).cdf
    for k in (0, n // 2, n - 1):
        assert_ks((directions[:, k] + 1) / 2, law, alpha / 3)


def assert_rayleigh(directions: np.ndarray, alpha: float = ALPHA) -> None:
    """No preferred side: n S |mean u|^2 ~ chi2 with n degrees (in the limit of many samples)."""
    samples, n = directions.shape
    statistic = n * samples * np.sum(directions.mean(axis=0) ** 2)
    p = stats.chi2.sf(statistic, n)
    assert p >= alpha, f"Rayleigh: p = {p:.3g} < {alpha:g}"


def assert_bingham(directions: np.ndarray, alpha: float = ALPHA) -> None:
    """No preferred axis: S n (n + 2) / 2 (tr T^2 - 1 / n) ~ chi2, T the mean of u u^T (in the limit)."""
    samples, n = directions.shape
    scatter = directions.T @ directions / samples
    statistic = samples * n * (n + 2) / 2 * (np.sum(scatter**2) - 1 / n)
    p = stats.chi2.sf(statistic, (n - 1) * (n + 2) / 2)
    assert p >= alpha, f"Bingham: p = {p:.3g} < {alpha:g}"


def assert_unrelated(radii: np.ndarray, directions: np.ndarray, alpha: float = ALPHA) -> None:
    """Spearman's correlation of the radius with the first coordinate is 0."""
    p = stats.spearmanr(radii, directions[:, 0]).pvalue
    assert p >= alpha, f"Spearman: p = {p:.3g} < {alpha:g}"


# --- CMP --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 12.5])
@pytest.mark.parametrize("n", DIMENSIONS)
def test_cmp_norm_is_gamma(n, epsilon):
    noise = CMP(epsilon=epsilon, vectors=vocabulary(n)).noise(np.random.default_rng(n), SAMPLES)
    assert noise.shape == (SAMPLES, n)
    assert_ks(np.linalg.norm(noise, axis=1), gamma(n, epsilon))


@pytest.mark.parametrize("n", [1, 3, 50, *slowly(300)])
def test_cmp_norm_of_a_wrong_mechanism_is_refuted(n):
    rng = np.random.default_rng(n + 1)
    doubled = CMP(epsilon=2.0, vectors=vocabulary(n)).noise(rng, SAMPLES)
    assert refuted(assert_ks, np.linalg.norm(doubled, axis=1), gamma(n, 1.0))
    # Gaussian noise with the right mean norm: the usual confusion of metric DP with the Gaussian mechanism.
    gaussian = np.linalg.norm(rng.standard_normal((SAMPLES, n)), axis=1)
    assert refuted(assert_ks, gaussian * n / gaussian.mean(), gamma(n, 1.0))
    # Laplace noise on every coordinate is private in the city-block metric only.
    if n > 1:
        laplace = np.linalg.norm(rng.laplace(size=(SAMPLES, n)), axis=1)
        assert refuted(assert_ks, laplace, gamma(n, 1.0))
    # A radius of the wrong shape: the density of |Z| without the surface of the sphere.
    if n > 1:
        assert refuted(assert_ks, rng.exponential(size=SAMPLES), gamma(n, 1.0))


def test_cmp_sign_in_one_dimension_is_a_fair_coin():
    noise = CMP(epsilon=1, vectors=vocabulary(1)).noise(np.random.default_rng(1), SAMPLES)
    assert_binomial(int((noise > 0).sum()), SAMPLES, 0.5)
    assert refuted(assert_binomial, int((noise > -0.05).sum()), SAMPLES, 0.5)


@pytest.mark.parametrize("n", [n for n in DIMENSIONS if n > 1])
def test_cmp_direction_is_uniform_and_unrelated_to_the_radius(n):
    noise = CMP(epsilon=3, vectors=vocabulary(n)).noise(np.random.default_rng(n + 2), SAMPLES)
    radii, directions = np.linalg.norm(noise, axis=1), unit(noise)
    assert_coordinate(directions)
    assert_rayleigh(directions)
    assert_bingham(directions)
    assert_unrelated(radii, directions)


@pytest.mark.parametrize("n", [3, 50, *slowly(300)])
def test_directions_that_are_not_uniform_are_refuted(n):
    rng = np.random.default_rng(n + 3)
    gaussian = rng.standard_normal((SAMPLES, n))
    shifted = unit(gaussian + 0.1)
    assert refuted(assert_rayleigh, shifted)
    stretched = unit(gaussian * np.linspace(1.0, 1.5, n))
    assert refuted(assert_bingham, stretched)
    # One axis favored, and both its sides alike: Rayleigh's test is blind to it, the other two are not.
    axis = gaussian.copy()
    axis[:, 0] *= 1.3
    assert_rayleigh(unit(axis))
    assert refuted(assert_coordinate, unit(axis))
    # Radii that know the direction.
    directions = unit(gaussian)
    knowing = rng.gamma(n, size=SAMPLES) * np.exp(np.sign(directions[:, 0]) * 0.1 / np.sqrt(n))
    assert refuted(assert_unrelated, knowing, directions)


def test_points_of_a_cube_are_no_directions():
    # Normalizing a uniform point of the cube favors its corners: the fourth moments differ, not the second.
    cube = unit(np.random.default_rng(4).uniform(-1, 1, (SAMPLES, 3)))
    assert_rayleigh(cube)
    assert refuted(assert_coordinate, cube)


# --- Mahalanobis ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [1.0, 0.75, 0.2])
@pytest.mark.parametrize("n", DIMENSIONS)
def test_factor_belongs_to_sigma(n, lam):
    vectors = vocabulary(n)
    found = ellipsoid(vectors, lam)
    np.testing.assert_allclose(found.factor @ found.factor.T, sigma(vectors, lam), atol=1e-9)
    values = np.linalg.eigvalsh(sigma(vectors, lam))
    assert found.smallest == pytest.approx(values[0], abs=1e-9)
    assert found.largest == pytest.approx(values[-1], abs=1e-9)


@pytest.mark.parametrize("lam", [1.0, 0.75])
@pytest.mark.parametrize("n", [n for n in DIMENSIONS if n > 1])
def test_mahalanobis_norm_law(n, lam):
    vectors = vocabulary(n)
    noise = Mahalanobis(epsilon=4, lam=lam, vectors=vectors).noise(np.random.default_rng(n + 4), SAMPLES)
    white = whitened(vectors, lam, noise)
    radii, directions = np.linalg.norm(white, axis=1), unit(white)
    assert_ks(radii, gamma(n, 4))
    assert_coordinate(directions)
    assert_rayleigh(directions)
    assert_bingham(directions)
    assert_unrelated(radii, directions)


@pytest.mark.parametrize("n", [3, 50, *slowly(300)])
def test_renormalized_mahalanobis_is_refuted(n):
    # Released code divides A u by its norm. Its Euclidean norm is then Gamma, which a test of that norm would take
    # for right; the Mahalanobis norm, on which the guarantee rests, is not.
    vectors, lam = vocabulary(n), 1.0
    rng = np.random.default_rng(n + 5)
    stretched = unit(rng.standard_normal((SAMPLES, n))) @ ellipsoid(vectors, lam).factor.T
    renormalized = rng.gamma(n, 1 / 4, SAMPLES)[:, None] * unit(stretched)
    assert_ks(np.linalg.norm(renormalized, axis=1), gamma(n, 4))
    assert refuted(assert_ks, np.linalg.norm(whitened(vectors, lam, renormalized), axis=1), gamma(n, 4))


@pytest.mark.parametrize("n", [3, 50])
def test_wrong_ellipsoids_are_refuted(n):
    vectors = vocabulary(n)
    rng = np.random.default_rng(n + 6)
    doubled = Mahalanobis(epsilon=8, vectors=vectors).noise(rng, SAMPLES)
    assert refuted(assert_ks, np.linalg.norm(whitened(vectors, 1.0, doubled), axis=1), gamma(n, 4))
    # Spherical noise, another lambda, and Sigma instead of its factor.
    spherical = CMP(epsilon=4, vectors=vectors).noise(rng, SAMPLES)
    assert refuted(assert_bingham, unit(whitened(vectors, 1.0, spherical)))
    other = Mahalanobis(epsilon=4, lam=0.5, vectors=vectors).noise(rng, SAMPLES)
    assert refuted(assert_bingham, unit(whitened(vectors, 1.0, other)))
    squared = spherical @ sigma(vectors, 1.0)
    assert refuted(assert_bingham, unit(whitened(vectors, 1.0, squared)))


@pytest.mark.parametrize(("elliptical", "spherical"), [(Mahalanobis, CMP), (VickreyMhl, VickreyCMP)])
@pytest.mark.parametrize("n", DIMENSIONS)
def test_lambda_0_is_the_sphere_bit_for_bit(n, elliptical, spherical):
    vectors = vocabulary(n)
    round_one = elliptical(epsilon=2, lam=0, vectors=vectors)
    plain = spherical(epsilon=2, vectors=vectors)
    assert np.array_equal(round_one.noise(np.random.default_rng(6), 100), plain.noise(np.random.default_rng(6), 100))
    query = "w1 w5 w9 unknown w2"
    sent = round_one.obfuscate(query, 20, np.random.default_rng(7))
    assert sent == plain.obfuscate(query, 20, np.random.default_rng(7))
    # At another lambda the same generator says something else (in one dimension there is only one ellipsoid).
    if n > 1:
        stretched = elliptical(epsilon=2, lam=0.9, vectors=vectors)
        assert stretched.obfuscate(query, 20, np.random.default_rng(7)) != sent


# --- what is tested is what is used ------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [CMP, Mahalanobis, VickreyCMP, VickreyMhl])
def test_obfuscate_adds_the_noise_that_is_tested(cls, monkeypatch):
    # One token per variant and one variant: the generator is then read in the same order by both.
    vectors = vocabulary(50)
    seen = []

    def record(matrix, half_norms, bases, base_of, directions, radii):
        seen.append(radii[:, :1] * directions)
        np.testing.assert_array_equal(bases[base_of], vectors.matrix[[3] * len(base_of)])
        return search(matrix, half_norms, bases, base_of, directions, radii)

    search = nearest.nearest_two
    monkeypatch.setattr(nearest, "nearest_two", record)
    mechanism = cls(epsilon=2, vectors=vectors)
    mechanism.obfuscate(" ".join(["w3"] * 200), 1, np.random.default_rng(8))
    np.testing.assert_allclose(np.concatenate(seen), mechanism.noise(np.random.default_rng(8), 200), rtol=1e-12)


def test_a_direction_of_zero_is_drawn_again():
    class Stuck:
        """Draws zeros first; everything else as a real generator."""

        def __init__(self) -> None:
            self.real, self.calls = np.random.default_rng(9), 0

        def standard_normal(self, shape):
            self.calls += 1
            drawn = self.real.standard_normal(shape)
            if self.calls == 1:
                drawn[::2] = 0
            return drawn

        def __getattr__(self, name):
            return getattr(self.real, name)

    drawn = perturbation.draw_noise(Stuck(), 6, 4)
    np.testing.assert_allclose(np.linalg.norm(drawn.directions, axis=1), 1)
    assert len(np.unique(drawn.directions[:, 0])) == 6
