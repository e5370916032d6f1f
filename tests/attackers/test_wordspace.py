import numpy as np
import pytest

from quipukit.attackers.base import Sent
from quipukit.attackers.tokens import LogTokens
from quipukit.attackers.wordspace import Slots, WordSpace, tiled_products, whitening
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


@pytest.mark.parametrize("dimension", [1, 7, 50, 384])
def test_products_of_a_block_are_the_same_bits_beside_any_other_blocks(dimension):
    rng = np.random.default_rng(dimension)
    rows = rng.standard_normal((1300, dimension)).astype(np.float32)
    blocks = [rng.standard_normal((length, dimension)).astype(np.float32) for length in (3, 0, 5, 1, 9, 16, 2, 7)]
    alone = [tiled_products([block], rows)[0] for block in blocks]
    for order in (range(8), range(7, -1, -1), (4, 0, 6, 2)):
        together = tiled_products([blocks[number] for number in order], rows)
        for number, found in zip(order, together, strict=True):
            assert np.array_equal(found, alone[number])
            np.testing.assert_allclose(found, blocks[number] @ rows.T, rtol=1e-4, atol=1e-3)


def test_the_last_rows_get_the_same_bits_in_a_longer_log():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((700, 40)).astype(np.float32)
    (short,) = tiled_products([rows[:3]], rows[:600])
    (long,) = tiled_products([rows[:3]], rows)
    assert np.array_equal(short, long[:, :600])
