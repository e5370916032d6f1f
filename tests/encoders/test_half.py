"""Vectors of half precision: rounded wherever they are kept, in half the space, under a name of their own."""

from pathlib import Path

import numpy as np
import pytest

from quipukit.encoders.base import Encoder
from quipukit.encoders.half import HalfPrecision, unrounded
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.errors import ResourceError
from tests.experiment.tiny import Words

TEXTS = ["a cat", "a dog", "the old captain", ""]


@pytest.fixture
def encoder() -> Encoder:
    return Words("words")


def test_vectors_are_rounded_wherever_they_come_from(encoder: Encoder, tmp_path: Path) -> None:
    half = HalfPrecision(encoder)
    rounded = encoder.encode(TEXTS).astype(np.float16).astype(np.float32)
    assert (rounded != encoder.encode(TEXTS)).any()
    shared = EncodingStore(half, tmp_path)
    for vectors in (half.encode(TEXTS), shared.get(TEXTS), EncodingStore(half, tmp_path).get(TEXTS)):
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, rounded)
    np.testing.assert_array_equal(PrivateStore(shared, tmp_path / "own").get([*TEXTS, "one more"])[:-1], rounded)
    np.testing.assert_array_equal(PrivateStore(shared).get([*TEXTS, "one more"])[:-1], rounded)


def test_they_take_half_the_space(encoder: Encoder, tmp_path: Path) -> None:
    sizes = {}
    for one in (encoder, HalfPrecision(encoder)):
        EncodingStore(one, tmp_path).ensure(TEXTS)
        (rows,) = (tmp_path / one.fingerprint).glob("rows.*")
        sizes[rows.suffix] = rows.stat().st_size
    assert sizes[".float32"] == 2 * sizes[".float16"] == 4 * len(TEXTS) * encoder.dimension


def test_it_is_another_encoder_of_the_same_kind(encoder: Encoder) -> None:
    half = HalfPrecision(encoder)
    assert half.name == "words@float16" and half.fingerprint != encoder.fingerprint
    assert unrounded(half) is encoder is unrounded(encoder)
    assert (half.dimension, half.similarity) == (encoder.dimension, encoder.similarity)
    assert all(half.variant(kind) == encoder.variant(kind) for kind in ("query", "document"))


def test_a_vector_that_is_too_large_for_it_is_refused(encoder: Encoder) -> None:
    class Large(Words):
        def pieces(self, texts, kind):  # type: ignore[no-untyped-def]
            for positions, piece in super().pieces(texts, kind):
                yield positions, piece * np.float32(1e6)

    with pytest.raises(ResourceError, match="NaN or infinity"):
        HalfPrecision(Large("large")).encode(TEXTS)


def test_it_has_a_name_on_the_command_line() -> None:
    half = load_encoder("Static@float16")
    assert isinstance(half, HalfPrecision) and half.name == f"{load_encoder('static').name}@float16"
    assert half.origin is not None and half.origin().fingerprint == half.fingerprint
