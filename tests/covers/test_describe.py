"""A description is what an encoder says, and beside it the form, as far as it counts."""

import pickle

import numpy as np

from quipukit.covers.describe import Description
from quipukit.covers.forms import forms
from quipukit.encoders.load import load_encoder

TEXTS = ["what is a cat", "cat food 2020", ""]


def test_without_form_it_is_the_encoding() -> None:
    assert np.array_equal(Description("static:default").of(TEXTS), load_encoder("static:default").encode(TEXTS))


def test_the_form_stands_beside_it() -> None:
    described = Description("static:default", 1, 0.5).of(TEXTS)
    assert np.allclose(described[:, -forms(TEXTS).shape[1] :], 0.5 * forms(TEXTS))


def test_a_description_that_was_used_travels_by_name() -> None:
    used = Description("static:default", 0.5)
    used.of(["a cat"])
    copied = pickle.loads(pickle.dumps(used))
    assert copied == used and (copied.of(["a cat"]) == used.of(["a cat"])).all()
