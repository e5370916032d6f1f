"""Keys and hashes of many texts are those of one after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.attackers.bulk import hashes_of, keyed, keys
from quipukit.text import divided, joined, key

TEXTS = st.lists(st.text(alphabet="aB\0 \t\n\x1c\x85\u00c9\u0345\u2028\U0001f600\ud800z", max_size=8), max_size=12)
BASE = 0x9E3779B97F4A7C15


@given(TEXTS)
def test_keys_of_many_are_those_of_each(texts):
    assert keys(texts) == [key(text) for text in texts]


@pytest.mark.parametrize(
    "peculiar", ["", " ", "a ", " a", "a  b", "a\tb", "a\x1fb", "\u00c9A", "a\nb", "\u212a", "\u0130"]
)
@pytest.mark.parametrize("place", range(3))
def test_one_peculiar_text_is_noticed_wherever_it_stands(peculiar, place):
    texts = ["First Text", "SECOND", "third one here"]
    texts[place] = peculiar
    assert keys(texts) == [key(text) for text in texts]
    assert keys([peculiar]) == [key(peculiar)]


@given(TEXTS)
def test_hashes_are_a_polynomial_over_the_bytes(texts):
    expected = [
        sum((letter + 1) * BASE ** (place + 1) for place, letter in enumerate(text.encode("utf-8", "surrogatepass")))
        % 2**64
        for text in texts
    ]
    assert hashes_of(texts).tolist() == expected
    content, lengths = joined(texts)
    assert (len(content), len(lengths)) == (sum(lengths), len(texts))


def test_similar_texts_have_different_hashes():
    texts = [f"{first}{second} {number}" for first in "abcdefgh" for second in "stuvwxyz" for number in range(1000)]
    assert len(np.unique(hashes_of(texts))) == len(texts)


@given(TEXTS)
def test_compiled_keys_and_hashes_are_the_same(texts):
    content, sizes = joined(texts)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    own, lengths, hashes = keyed(np.frombuffer(content, np.uint8), starts)
    assert divided(own, lengths.tolist()) == keys(texts)
    assert hashes.tolist() == hashes_of(keys(texts)).tolist()
