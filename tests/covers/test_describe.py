"""What queries mean is what an encoder says; where a query belongs, its form counts too."""

import pickle

import numpy as np

from quipukit.covers.describe import Description
from quipukit.covers.forms import forms
from quipukit.encoders.load import load_encoder

TEXTS = ["what is a cat", "cat food 2020", ""]


def test_without_form_it_is_the_encoding() -> None:
    assert np.array_equal(Description("static:default").of(TEXTS), load_encoder("static:default").encode(TEXTS))


def test_form_decides_between_leaves_of_one_meaning() -> None:
    own = Description("static:default")
    mean = own.of(["cat food"])
    means = np.repeat(mean / np.linalg.norm(mean), 2, axis=0)
    usual = forms(["what is a dog", "dog house"])
    asked = ["what is a cat", "cat food", "what is cat food", "cats"]
    assert own.nearest(asked, means, usual).tolist() == [0, 1, 0, 1]
    assert Description("static:default", weight=0.0).nearest(asked, means, usual).tolist() == [0, 0, 0, 0]


def test_meaning_decides_between_leaves_of_one_form() -> None:
    own = Description("static:default")
    means = own.of(["income tax", "cat food"])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    usual = np.repeat(forms(["dog house"]), 2, axis=0)
    assert own.nearest(["tax return", "what does my cat eat"], means, usual).tolist() == [0, 1]


def test_a_description_that_was_used_travels_by_name() -> None:
    used = Description("static:default", 0.5)
    used.of(["a cat"])
    copied = pickle.loads(pickle.dumps(used))
    assert copied == used and (copied.of(["a cat"]) == used.of(["a cat"])).all()
