"""An encoder behind a store: what is encoded once, and where it is kept."""

import numpy as np
import pytest

from quipukit.encoders import stored as module
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.encoders.stored import StoredEncoder
from tests.attackers.fakes import Bag

PUBLIC = ["a cat", "a dog"]


class Counting(Bag):
    """Counts the texts that it encodes."""

    def __init__(self):
        self.encoded = []

    def pieces(self, texts, kind):
        self.encoded += texts
        return super().pieces(texts, kind)


@pytest.fixture
def encoder(tmp_path, monkeypatch):
    monkeypatch.setenv("QUIPUKIT_HOME", str(tmp_path))
    return Counting()


@pytest.fixture
def stored(encoder):
    return StoredEncoder(PrivateStore(EncodingStore(encoder)), PUBLIC)


def test_it_is_the_encoder_in_all_but_the_keeping(encoder, stored):
    texts = ["secret", *PUBLIC, "secret"]
    assert (stored.name, stored.dimension, stored.fingerprint) == ("bag", 24, "bag-1")
    assert stored.similarity == encoder.similarity and stored.variant("query") == encoder.variant("query")
    np.testing.assert_array_equal(stored.encode(texts), Bag().encode(texts))
    np.testing.assert_array_equal(stored.vectors(texts)[:], Bag().vectors(texts)[:])


def test_texts_are_encoded_once(encoder, stored):
    for _ in range(2):
        stored.vectors([*PUBLIC, "secret"])
    assert sorted(encoder.encoded) == sorted([*PUBLIC, "secret"])


@pytest.mark.parametrize("few", [10, 0])
def test_only_the_whole_of_the_public_texts_is_shared(encoder, stored, monkeypatch, few):
    monkeypatch.setattr(module, "_FEW", few)  # from which number on they are compared by hashes
    stored.vectors(["secret", "a cat"])
    assert len(EncodingStore(encoder)) == 0
    stored.vectors(["secret", "a dog", "a cat"])
    assert len(EncodingStore(encoder)) == 2 and EncodingStore(encoder).missing(["secret"]) == 1


def test_without_public_texts_nothing_is_shared(encoder):
    StoredEncoder(PrivateStore(EncodingStore(encoder))).vectors(PUBLIC)
    assert len(EncodingStore(encoder)) == 0


def test_nothing_shows_which_texts_are_public(stored):
    vectors = stored.vectors(["secret", *PUBLIC])
    assert vectors.rows.tolist() == [0, 1, 2] and vectors.shape == (3, 24) and len(vectors) == 3
    for value in vars(stored).values():
        assert not isinstance(value, list | tuple | set | frozenset | EncodingStore)
    assert all(vectors[row : row + 1].base is None for row in range(3))
    assert [positions.tolist() for positions, _ in vectors.blocks(2)] == [[0, 1], [2]]


def test_texts_that_are_reordered_are_looked_up_once(encoder):
    store = PrivateStore(EncodingStore(encoder))
    own, order = ["secret"], np.array([2, 0, 1])
    texts = [[*PUBLIC, *own][row] for row in order]
    reordered = StoredEncoder(store, PUBLIC, lambda: (texts, own, order))
    np.testing.assert_array_equal(reordered.vectors(texts)[:], Bag().encode(texts))
    assert store.shared.missing(PUBLIC) == 0 and store.shared.missing(own) == 1
    # Equal texts in another sequence are looked up as any others are.
    np.testing.assert_array_equal(reordered.vectors(list(texts))[:], Bag().encode(texts))
