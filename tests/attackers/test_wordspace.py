import numpy as np
import pytest

from quipukit.attackers.base import Sent
from quipukit.attackers.tokens import LogTokens
from quipukit.attackers.wordspace import Slots, WordSpace, whitening
from tests.attackers import small


def test_directions_are_centered_and_of_length_one():
    known = small.vectors()
    space = WordSpace(known, LogTokens.of([small.WORDS[3], "zebra"]))
    expected = known.vector(small.WORDS[3]) - known.mean
    assert space.matrix[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)
    assert not space.matrix[1].any() and space.known.tolist() == [True, False]


def test_whitened_directions_are_equally_common():
    known = small.vectors()
    white = (known.matrix - known.mean) @ whitening(known)
    assert np.cov(white.T, bias=True) == pytest.approx(np.eye(known.dimension), abs=1e-5)


def test_slots_count_the_words_of_every_position():
    slots = Slots.of(Sent(("cat food", "dog food", "cat", "cat food")))
    assert (slots.length, slots.agreed) == (2, True)
    assert [dict(one) for one in slots.counts] == [{"cat": 2, "dog": 1}, {"food": 3}]


@pytest.mark.parametrize("texts", [(), ("",), ("a b c", "a", "a b", "a b c d")])
def test_texts_that_agree_on_nothing(texts):
    slots = Slots.of(Sent(texts))
    assert len(slots.counts) == slots.length
    assert slots.agreed is (texts == ("",))
