"""Random: words that do not depend on the query, as many as it has."""

import numpy as np
import pytest

from quipukit.mechanisms.random import Random
from quipukit.vectors.store import Vectors
from tests.stat_checks import assert_chi2, refuted

VECTORS = Vectors([f"x{letter}" for letter in "abcdefgh"], np.random.default_rng(3).standard_normal((8, 3)))


def drawn(query: str, seed: int) -> list[str]:
    return Random(vectors=VECTORS).obfuscate(query, 20_000, np.random.default_rng(seed))


def counts(texts: list[str]) -> np.ndarray:
    words = [text.split()[0] for text in texts]
    return np.array([words.count(word) for word in VECTORS.words])


@pytest.mark.statistical
def test_every_word_is_as_likely_as_any_other():
    uniform = np.full(8, 1 / 8)
    assert_chi2(counts(drawn("xa", 1)), uniform)
    skewed = np.array([0.16, *[0.12] * 7])
    assert refuted(assert_chi2, counts(drawn("xa", 1)), skewed)


def test_the_query_changes_nothing_but_the_number_of_words():
    assert drawn("xa", 5)[:50] == drawn("xh", 5)[:50]
    assert {len(text.split()) for text in drawn("xa xb unknown", 1)[:50]} == {3}
