"""Features of files whose features are known without a computer."""

import numpy as np
import pytest

from quipukit.identification.features import FEATURES, OWN_FEATURES, features
from quipukit.identification.reader import Reader
from quipukit.vectors.store import Vectors
from quipukit.wordnet.database import load_wordnet


@pytest.fixture(scope="module")
def reader() -> Reader:
    pets = Vectors(["cat", "dog", "cow", "the"], [[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0], [0.0, -3.0]])
    return Reader(pets, load_wordnet())


def test_queries_that_are_sent_unchanged_repeat_everywhere(reader: Reader) -> None:
    found = dict(zip(FEATURES, features([["the cat"] * 4], reader, 4)[0], strict=True))
    ones = ("same_length", "repeated_variants", "repeats", "top_share", "constant", "constant_stop_words", "known")
    assert {name: found[name] for name in ones} == dict.fromkeys(ones, 1.0)
    zeros = ("shortfall", "length_variation", "repeats_deviation", "second_by_top", "singletons", "elsewhere_in_query")
    assert {name: found[name] for name in zeros} == dict.fromkeys(zeros, 0.0)
    assert found["distinct"] == 0.25 and found["stop_words"] == 0.5


def test_words_that_never_repeat_do_not(reader: Reader) -> None:
    found = dict(zip(FEATURES, features([["cat", "dog", "cow"]], reader, 6)[0], strict=True))
    assert found["repeats"] == 0 and found["distinct"] == 1 and found["singletons"] == 1
    assert found["shortfall"] == pytest.approx(np.log(0.5))
    assert found["pair_cosine"] == pytest.approx((0 - 1 + 0) / 3)  # cat and cow lie opposite, dog between them


def test_originals_are_compared_where_they_are_given(reader: Reader) -> None:
    variants = [["the cat", "the cat", "the dog"]]
    found = dict(zip(OWN_FEATURES, features(variants, reader, 3, ["The cat"])[0, -len(OWN_FEATURES) :], strict=True))
    assert found["original_words"] == pytest.approx(5 / 6)
    assert found["original_variants"] == pytest.approx(2 / 3)
    assert found["original_on_top"] == 1


def test_the_order_of_variants_does_not_matter(reader: Reader) -> None:
    variants = ["the cat", "a dog", "cow the dog", "the cow", "the cat", "xyzzy cat"]
    np.testing.assert_allclose(
        features([variants], reader, 6), features([variants[::-1]], reader, 6), rtol=1e-6, equal_nan=True
    )


def test_words_of_no_vocabulary_have_no_place(reader: Reader) -> None:
    found = dict(zip(FEATURES, features([["xyzzy", "plugh"]], reader, 2)[0], strict=True))
    assert found["known"] == 0
    assert np.isnan([found["rank"], found["norm"], found["pair_cosine"]]).all()
