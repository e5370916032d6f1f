"""Queries of one form are near each other, whatever they are about."""

import numpy as np

from quipukit.covers.forms import forms

KINDS = {
    "what": ["what is a cat", "what is the sun", "who was the king"],
    "how": ["how do cats sleep", "how are taxes paid", "how is glass made"],
    "keywords": ["cat food", "tax return form", "glass factory"],
    "yes or no": ["is a cat blind", "do dogs dream", "can glass bend"],
}


def test_kinds_are_told_apart() -> None:
    means = {kind: forms(texts).mean(axis=0) for kind, texts in KINDS.items()}
    for kind, texts in KINDS.items():
        for row in forms(texts):
            assert min(means, key=lambda other: float(((row - means[other]) ** 2).sum())) == kind


def test_case_and_nothing_at_all() -> None:
    assert np.array_equal(forms(["WHAT is a Cat"]), forms(["what is a cat"]))
    assert np.isfinite(forms(["", "?!", "猫"])).all()
