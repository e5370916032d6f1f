"""Bags of words: read as the tokenizer reads, summed in parts that change nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.encoders import bags
from quipukit.encoders.bag_kernel import add_up
from quipukit.encoders.bags import BagReader, weighted_sums
from quipukit.text import tokenize
from quipukit.vectors.store import Vectors

TOY = Vectors(["the", "sea", "ship", "café", "Straße", "well", "known"], np.arange(21.0).reshape(7, 3))
PARTS = [
    "The",
    "sea-ship",
    "café's",
    "cafe",
    "STRASSE",
    "(well-known)",
    "sea\u0301",
    "ﬁsh",
    "x",
    "-",
    "\u2019s",
    "the/sea",
]


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=8).map(" ".join))
def test_a_text_is_read_as_the_tokenizer_reads_it(text):
    words = tokenize(text, TOY.__contains__)
    assert BagReader(TOY).read(text) == [TOY.row(word) for word in words if word in TOY]


def test_the_parts_have_every_text_once_and_change_no_sum(monkeypatch):
    weights = np.array([0.5, 1, 2, 3, 4, 5, 6], np.float32)
    texts = ["the sea", "", "ship ship ship ship ship", "xyzzy", "well-known sea", "the"]
    ((positions, whole, words),) = weighted_sums(texts, TOY, weights)
    assert positions.tolist() == list(range(6)) and words.tolist() == [2, 0, 5, 0, 3, 1]
    assert whole[0].tolist() == [3, 4.5, 6] and whole[2].tolist() == [60, 70, 80] and not whole[3].any()
    monkeypatch.setattr(bags, "_WORDS", 3)
    monkeypatch.setattr(bags, "_MOST_TEXTS", 4)
    parts = list(weighted_sums(iter(texts), TOY, weights))
    assert len(parts) > 2
    assert np.concatenate([part[0] for part in parts]).tolist() == list(range(6))
    assert np.array_equal(np.concatenate([part[1] for part in parts]), whole)
    assert np.concatenate([part[2] for part in parts]).tolist() == words.tolist()


def test_the_kernel_adds_in_the_order_of_the_vocabulary_and_a_repeated_word_once():
    rng = np.random.default_rng(5)
    matrix, weights = rng.standard_normal((9, 4)).astype(np.float32), rng.random(9).astype(np.float32)
    rows, starts = np.array([8, 2, 2, 5, 7]), np.array([0, 4, 4, 5])
    sums = np.zeros((3, 4))
    add_up(rows, starts, matrix, weights, sums)
    expected = np.zeros((3, 4))
    for text, row, count in ((0, 2, 2), (0, 5, 1), (0, 8, 1), (2, 7, 1)):
        expected[text] += count * float(weights[row]) * matrix[row].astype(np.float64)
    assert sums.tolist() == expected.tolist()


@pytest.mark.parametrize("texts", [[], [""], ["xyzzy"]])
def test_nothing_known_is_no_fault(texts):
    parts = list(weighted_sums(texts, TOY, np.ones(7)))
    assert sum(len(positions) for positions, _, _ in parts) == len(texts)
    assert not any(sums.any() for _, sums, _ in parts)
