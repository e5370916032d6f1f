"""Toy vocabularies: what is claimed there can be seen."""

import pytest

import quipukit as qk
from quipukit.auditing.toys import DIMENSIONS, REACH, on_toy, toy_pairs, toy_vectors
from quipukit.lexical import STOP_WORDS
from quipukit.mechanisms.words import WordMechanism
from tests.auditing.twins import vocabulary


def made(spec: str) -> WordMechanism:
    mechanism = qk.mechanism(spec, vocabulary())
    assert isinstance(mechanism, WordMechanism)
    return mechanism


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_a_toy_has_its_dimension_stop_words_twins_and_other_lengths(dimension: int) -> None:
    vectors = toy_vectors(dimension, 2.0)
    assert vectors.dimension == dimension and vectors.matrix[2].tolist() == vectors.matrix[-1].tolist()
    assert set(vectors.words) & STOP_WORDS and len({len(word) for word in vectors.words}) > 4
    kinds = {pair.kind for pair in toy_pairs(on_toy(made("CMP@3"), dimension)[0], 1)}
    assert {"unknown", "case", "twins", "toy"} <= kinds


@pytest.mark.parametrize("spec", ["CMP@3", "CMP@50", "Mahalanobis@3", "SanText@0.1", "CusText@20"])
def test_no_pair_claims_more_than_can_be_seen(spec: str) -> None:
    for dimension in DIMENSIONS:
        toy, claims = on_toy(made(spec), dimension)
        largest = max(claims.losses(word, toy.vectors.words).max() for word in toy.vectors.words)
        assert largest == pytest.approx(REACH)
        assert toy.value == made(spec).value or spec.startswith("CusText")


def test_what_claims_nothing_is_left_as_it_is() -> None:
    toy, _ = on_toy(made("CusText(mapping='topk')@3"), 1)
    assert toy.vectors.matrix.tolist() == toy_vectors(1).matrix.tolist()
    assert on_toy(made("Random"), 1)[1].loss("cat", "dog") == 0
