"""An encoder behind a store: what is encoded once, and where it is kept."""

import numpy as np
import pytest

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


def test_only_the_whole_of_the_public_texts_is_shared(encoder, stored):
    stored.vectors(["secret", "a cat"])
    assert len(EncodingStore(encoder)) == 0
    stored.vectors(["secret", "a dog", "a cat"])
    assert len(EncodingStore(encoder)) == 2 and EncodingStore(encoder).missing(["secret"]) == 1


def test_without_public_texts_nothing_is_shared(encoder):
    StoredEncoder(PrivateStore(EncodingStore(encoder))).vectors(PUBLIC)
    assert len(EncodingStore(encoder)) == 0
