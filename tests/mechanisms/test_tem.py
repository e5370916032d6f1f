"""TEM: closed form, truncation and degenerate cases."""

import functools
import math

import numpy as np
import pytest

from quipukit.errors import SpecError
from quipukit.mechanisms.sampling import Place
from quipukit.mechanisms.tem import TEM
from quipukit.obfuscation import mechanism, obfuscate
from quipukit.specs import spec
from quipukit.vectors.store import Vectors
from tests.examples import slowly

line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(50)], np.random.default_rng(50).standard_normal((50, 4)))


def law(mechanism, word: str) -> np.ndarray:
    return np.exp([mechanism.log_prob(y, word) for y in mechanism.vectors.words])


def test_golden_law():
    found = law(TEM(epsilon=2, gamma=1.5, vectors=line), "a")
    np.testing.assert_allclose(found, (0.628532, 0.231224, 0.140244), atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("gamma", [0.0, 0.7, 2.0, 100.0])
def test_law_of_every_word(epsilon, gamma):
    exact = cloud().matrix.astype(np.float64)
    for row in (0, 21):
        capped = np.minimum(np.linalg.norm(exact - exact[row], axis=1), gamma)
        expected = np.exp(-epsilon / 2 * capped)
        found = law(TEM(epsilon=epsilon, gamma=gamma, vectors=cloud()), f"w{row}")
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-6)


@pytest.mark.parametrize(("epsilon", "expected"), [(1, 39.612), (50, 0.79224), *slowly((5, 7.9224), (10, 3.9612))])
def test_truncation_at_the_size_of_a_real_vocabulary(epsilon, expected):
    # |V| = 400,000 and beta = 0.001, as in the specification.
    vectors = Vectors([str(i) for i in range(400_000)], np.zeros((400_000, 1), np.float32))
    assert TEM(epsilon=epsilon, vectors=vectors).truncation == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("count", "beta"), [(1, 0.001), (2, 0.5), (2, 0.9), (3, 0.8), (3, 0.1)])
def test_truncation_is_never_negative(count, beta):
    vectors = Vectors([f"w{i}" for i in range(count)], np.arange(count)[:, None])
    tem = TEM(epsilon=3, beta=beta, vectors=vectors)
    assert tem.truncation == (0 if count < 3 else pytest.approx(max(0, 2 / 3 * math.log((1 - beta) * 2 / beta))))
    np.testing.assert_allclose(law(tem, "w0").sum(), 1)


def test_gamma_0_takes_all_words_alike():
    np.testing.assert_allclose(law(TEM(epsilon=3, gamma=0, vectors=cloud()), "w5"), 1 / 50)


@pytest.mark.parametrize("beta", [0.001, 0.2])
def test_huge_epsilon_is_the_word_itself_but_for_beta(beta):
    # With gamma from beta the far words keep up to beta together, however large epsilon is: gamma shrinks with it.
    found = law(TEM(epsilon=1e6, beta=beta, vectors=cloud()), "w5")
    assert found[5] == pytest.approx(1 - beta, rel=1e-6)
    np.testing.assert_allclose(np.delete(found, 5), beta / 49, rtol=1e-6)
    # With a gamma of one's own they do not.
    assert set(TEM(epsilon=1e6, beta=beta, gamma=1, vectors=cloud()).obfuscate("w5", 100)) == {"w5"}


def test_far_words_share_what_is_left_evenly():
    tem = TEM(epsilon=3, gamma=1.0, vectors=cloud())
    exact = cloud().matrix.astype(np.float64)
    far = np.linalg.norm(exact - exact[5], axis=1) > 1.0
    assert far.sum() > 20
    found = law(tem, "w5")
    np.testing.assert_allclose(found[far], found[far][0], rtol=1e-12)
    assert found[far][0] < found[~far].min()


def test_a_word_just_at_gamma_is_near():
    # d = gamma exactly: inside or outside, the weight is the same.
    edge = Vectors(["a", "b", "c"], [[0.0], [2.0], [5.0]])
    tem = TEM(epsilon=1, gamma=2.0, vectors=edge)
    found = law(tem, "a")
    assert found[1] == pytest.approx(found[2], rel=1e-12)


def test_beta_bounds_a_far_word_for_words_of_the_vocabulary_alone():
    # As the documentation says: at this epsilon an unknown word gets a far one with hundreds of times beta.
    tem = TEM(epsilon=20, vectors=cloud())
    words = cloud().words

    def far(word: str, point: np.ndarray) -> float:
        gaps = np.linalg.norm(cloud().matrix - point, axis=1)
        return float(np.array(law(tem, word))[gaps > tem.truncation].sum())

    assert max(far(word, cloud().vector(word)) for word in words) <= 0.001
    assert far("unknown", cloud().mean) > 0.3
    assert "It does not for an unknown word" in (TEM.__doc__ or "")


def test_a_place_far_from_every_word():
    # No word is within gamma of the mean: all are alike, and none of the arithmetic is 0 / 0.
    far = Vectors(["a", "b"], [[-1e3], [1e3]])
    tem = TEM(epsilon=10, vectors=far)
    np.testing.assert_allclose(law(tem, "unknown"), [0.5, 0.5])
    near = tem.neighborhood(Place(far.mean, -1))
    assert tem.sample(near, np.array([0.0, 0.49, 0.51, math.nextafter(1.0, 0.0)])).tolist() == [0, 0, 1, 1]


def test_the_largest_uniform_number_gives_the_last_word():
    for gamma in (0.0, 0.5, 1.0, 50.0):
        tem = TEM(epsilon=3, gamma=gamma, vectors=cloud())
        near = tem.neighborhood(Place(cloud().matrix[5].astype(np.float64), 5))
        rows = tem.sample(near, np.array([0.0, math.nextafter(1.0, 0.0)]))
        assert rows.tolist() == [near.rows[0], near.rows[-1]]


def test_one_setting_has_one_name():
    # The name is the identity of a setting, and its stream's key: it must not depend on how a number was written.
    whole, real = mechanism("TEM(gamma=1)@2", vectors=line), mechanism("TEM(gamma=1.0)@2", vectors=line)
    assert repr(whole.spec) == repr(real.spec)
    numpy = TEM(epsilon=np.float32(2), gamma=np.float64(1), beta=np.float64(0.25), vectors=line)
    assert spec(repr(numpy.spec)) == numpy.spec
    texts = [obfuscate(["a b c"], one, 20, seed=3)["query"].tolist() for one in (whole, real)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("beta", [0, 1, -0.1, 1.5, math.nan, "small", None])
def test_another_beta_is_refused(beta):
    with pytest.raises(SpecError, match="beta must"):
        TEM(epsilon=1, beta=beta, vectors=line)


@pytest.mark.parametrize("gamma", [-1, math.nan, math.inf, "far"])
def test_another_gamma_is_refused(gamma):
    with pytest.raises(SpecError, match="gamma must"):
        TEM(epsilon=1, gamma=gamma, vectors=line)
