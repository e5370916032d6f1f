"""SanText and SanText+: closed forms and degenerate cases."""

import functools
import math

import numpy as np
import pytest

from quipukit.errors import SpecError
from quipukit.mechanisms.santext import SanText, SanTextPlus
from quipukit.vectors.store import Vectors

line = Vectors(["a", "b", "c"], [[0.0], [1.0], [3.0]])


@functools.cache
def cloud() -> Vectors:
    return Vectors([f"w{i}" for i in range(20)], np.random.default_rng(20).standard_normal((20, 5)))


def law(mechanism, word: str) -> np.ndarray:
    return np.exp([mechanism.log_prob(y, word) for y in mechanism.vectors.words])


def weights(vectors: Vectors, row: int, epsilon: float) -> np.ndarray:
    exact = vectors.matrix.astype(np.float64)
    return np.exp(-epsilon / 2 * np.linalg.norm(exact - exact[row], axis=1))


def test_golden_law():
    np.testing.assert_allclose(law(SanText(epsilon=2, vectors=line), "a"), (0.705385, 0.259496, 0.035119), atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_law_of_every_word(epsilon):
    mechanism = SanText(epsilon=epsilon, vectors=cloud())
    for row in (0, 7, 19):
        expected = weights(cloud(), row, epsilon)
        np.testing.assert_allclose(law(mechanism, f"w{row}"), expected / expected.sum(), rtol=1e-6)


def test_small_epsilon_is_uniform():
    np.testing.assert_allclose(law(SanText(epsilon=1e-6, vectors=cloud()), "w3"), 1 / 20, rtol=1e-4)


def test_large_epsilon_is_the_word_itself_shared_with_its_twins():
    assert set(SanText(epsilon=1e6, vectors=cloud()).obfuscate("w3", 50)) == {"w3"}
    twins = Vectors(["a", "b", "c"], [[0.0], [1.0], [0.0]])
    np.testing.assert_allclose(law(SanText(epsilon=1e6, vectors=twins), "c"), [0.5, 0, 0.5])
    first, _, last = law(SanText(epsilon=1, vectors=twins), "a")
    assert first == last


def test_far_unknown_words_do_not_underflow():
    # The mean lies 1,000 away from every word: exp(-epsilon d / 2) alone would be 0 / 0.
    far = Vectors(["a", "b"], [[-1000.0], [1000.0]])
    for epsilon in (100.0, 1e6):
        np.testing.assert_allclose(law(SanText(epsilon=epsilon, vectors=far), "unknown"), [0.5, 0.5])
        assert set(SanText(epsilon=epsilon, vectors=far).obfuscate("unknown", 40, np.random.default_rng(0))) == {
            "a",
            "b",
        }


# --- SanText+ -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_plus_law(p, share):
    mechanism = SanTextPlus(epsilon=2, p=p, sensitive_share=share, vectors=cloud())
    rare = np.arange(20) >= 20 * (1 - share)
    assert mechanism.first_sensitive == 20 * (1 - share)
    for row in (0, 19):
        replaced = np.where(rare, weights(cloud(), row, 2), 0)
        replaced /= replaced.sum()
        expected = replaced if rare[row] else p * replaced + (1 - p) * (np.arange(20) == row)
        np.testing.assert_allclose(law(mechanism, f"w{row}"), expected, rtol=1e-6, atol=1e-15)


def test_p_0_keeps_frequent_words_and_p_1_never_sends_one():
    frequent, rare = "w0 w1 w9", "w10 w15 w19"
    assert set(SanTextPlus(epsilon=1, p=0, vectors=cloud()).obfuscate(frequent, 30)) == {frequent}
    names = {f"w{i}" for i in range(10, 20)}
    for query in (frequent, rare, "unknown"):
        sent = " ".join(SanTextPlus(epsilon=1, p=1, vectors=cloud()).obfuscate(query, 100)).split()
        assert set(sent) <= names
    # A rare word and an unknown one are replaced by rare words whatever p is.
    sent = " ".join(SanTextPlus(epsilon=1, p=0, vectors=cloud()).obfuscate(f"{rare} unknown", 100)).split()
    assert set(sent) <= names


@pytest.mark.parametrize(("share", "first"), [(1.0, 0), (0.0, 19), (0.01, 19), (0.5, 10)])
def test_at_least_one_word_is_sensitive(share, first):
    mechanism = SanTextPlus(epsilon=1, sensitive_share=share, vectors=cloud())
    assert mechanism.first_sensitive == first
    np.testing.assert_allclose(law(mechanism, "w0").sum(), 1)


def test_everything_sensitive_is_santext():
    plus, plain = SanTextPlus(epsilon=1, sensitive_share=1, vectors=cloud()), SanText(epsilon=1, vectors=cloud())
    np.testing.assert_allclose(law(plus, "w4"), law(plain, "w4"), rtol=1e-12)


def test_a_vocabulary_of_one_word():
    only = Vectors(["only"], [[1.0]])
    assert SanTextPlus(epsilon=1, vectors=only).obfuscate("only other") == ["only only"]


@pytest.mark.parametrize("option", ["p", "sensitive_share"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "half"])
def test_another_share_is_refused(option, value):
    with pytest.raises(SpecError, match=rf"SanText\+: {option} must"):
        SanTextPlus(epsilon=1, vectors=cloud(), **{option: value})
