"""The check of encoders lets right ones pass, and finds what is wrong with others."""

import numpy as np
import pytest

from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.errors import ResourceError
from quipukit.testing import check_encoder
from tests.encoders.fakes import HashEncoder


class Letters(Encoder):
    name, dimension, fingerprint = "letters", 26, "letters-1"

    def pieces(self, texts, kind):
        yield np.arange(len(texts)), np.array([self.row(text) for text in texts], np.float32)

    def row(self, text):
        return [text.count(chr(97 + letter)) for letter in range(26)]


class Nameless(Letters):
    name = ""


class Unprinted(Letters):
    fingerprint = ""


class Angular(Letters):
    similarity = "angle"


class Constant(Letters):
    def row(self, text):
        return [1] * 26


class InBatch(Letters):
    def pieces(self, texts, kind):
        for positions, rows in super().pieces(texts, kind):
            yield positions, rows - rows.mean(axis=0)


class InOrder(Letters):
    def pieces(self, texts, kind):
        for positions, rows in super().pieces(texts, kind):
            yield positions, rows + positions[:, None]


class Gap(Letters):
    def pieces(self, texts, kind):
        for positions, rows in super().pieces(texts, kind):
            yield positions[:-1], rows[:-1]


class Nan(Letters):
    def row(self, text):
        return [float("nan")] * 26


@pytest.mark.parametrize("make", [Letters, HashEncoder])
def test_right_ones_pass(make):
    check_encoder(make())


@pytest.mark.heavy
@pytest.mark.slow
def test_the_built_in_one_passes():
    check_encoder(load_encoder())


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Nameless, "must set a name"),
        (Unprinted, "'fingerprint'"),
        (Angular, "similarity must be one of"),
        (Constant, "different texts have the same vector"),
        (InBatch, "depends on the texts beside it"),
        (InOrder, "depends on the order"),
        (Gap, "every position once"),
        (Nan, "NaN or infinity"),
    ],
)
def test_wrong_ones_do_not(wrong, reason):
    with pytest.raises((AssertionError, ResourceError), match=reason):
        check_encoder(wrong())
