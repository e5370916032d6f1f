"""SipHash-2-4-128: the published vectors, and an implementation that follows the paper word by word."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.siphash import siphash

KEY = bytes(range(16))
MASK = 2**64 - 1


def by_the_paper(content, key):
    first, second = struct.unpack("<QQ", key)
    state = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D ^ 0xEE,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]

    def rotate(place, by):
        state[place] = (state[place] << by | state[place] >> 64 - by) & MASK

    def rounds(count):
        for _ in range(count):
            for one, other, by, and_by in ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32)):
                state[one] = (state[one] + state[other]) & MASK
                rotate(other, by)
                state[other] ^= state[one]
                if and_by:
                    rotate(one, and_by)

    padded = content + bytes(7 - len(content) % 8) + bytes([len(content) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        rounds(2)
        state[0] ^= word
    found = []
    for place, mark in ((2, 0xEE), (1, 0xDD)):
        state[place] ^= mark
        rounds(4)
        found.append(state[0] ^ state[1] ^ state[2] ^ state[3])
    return found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (2, "8177228da4a45dc7fca38bdef60affe4"),
    ],
)
def test_the_vectors_of_its_authors(size, expected):
    assert siphash(["".join(map(chr, range(size)))], KEY).tobytes().hex() == expected


@given(st.lists(st.text(max_size=40), max_size=6), st.binary(min_size=16, max_size=16))
def test_many_texts_are_hashed_as_the_paper_says(texts, key):
    assert siphash(texts, key).tolist() == [by_the_paper(text.encode(), key) for text in texts]


def test_another_key_gives_other_hashes():
    assert siphash(["cats"], KEY).tolist() != siphash(["cats"], KEY[::-1]).tolist()
