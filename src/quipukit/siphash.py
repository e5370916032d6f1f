"""SipHash-2-4 with 128 bits (Aumasson and Bernstein 2012) of many texts at a time.

A keyed hash for short texts: who does not have the key can neither test a guess nor make two texts that meet. BLAKE2,
which `secret` uses, is called from Python once for each text; for ten million of them that takes longer than the rest
of handing them out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.jit import fixed, numba
from quipukit.text import joined


def siphash(texts: Sequence[str], key: bytes) -> "NDArray[np.uint64]":
    """Return the hashes of texts in UTF-8, as two words each.

    >>> siphash([""], bytes(range(16))).tobytes().hex()
    'a3817f04ba25a8e66df67214c7550293'
    """
    content, lengths = joined(texts)
    ends = np.cumsum(np.array(lengths, np.int64))
    hashes = np.empty((len(ends), 2), np.uint64)
    first, second = np.frombuffer(key, "<u8", 2)
    _hash(fixed(np.frombuffer(content or b"\0", np.uint8)), ends, first, second, hashes)
    return hashes


@numba.njit(cache=True, inline="always")
def _rotated(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@numba.njit(cache=True, inline="always")
def _round(a, b, c, d):  # type: ignore[no-untyped-def]
    a += b
    b = _rotated(b, 13) ^ a
    a = _rotated(a, 32)
    c += d
    d = _rotated(d, 16) ^ c
    a += d
    d = _rotated(d, 21) ^ a
    c += b
    b = _rotated(b, 17) ^ c
    c = _rotated(c, 32)
    return a, b, c, d


@numba.njit(cache=True, nogil=True)
def _hash(content, ends, first, second, hashes):  # type: ignore[no-untyped-def]
    start = 0
    for row in range(len(ends)):
        size = ends[row] - start
        a = first ^ np.uint64(0x736F6D6570736575)
        b = second ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
        c = first ^ np.uint64(0x6C7967656E657261)
        d = second ^ np.uint64(0x7465646279746573)
        begin = start
        last = False
        while not last:
            left = ends[row] - begin
            last = left < 8
            word = np.uint64(size & 255) << np.uint64(56) if last else np.uint64(0)
            for place in range(min(8, left)):
                word |= np.uint64(content[begin + place]) << np.uint64(8 * place)
            d ^= word
            a, b, c, d = _round(a, b, c, d)
            a, b, c, d = _round(a, b, c, d)
            a ^= word
            begin += 8
        c ^= np.uint64(0xEE)
        for _ in range(4):
            a, b, c, d = _round(a, b, c, d)
        hashes[row, 0] = a ^ b ^ c ^ d
        b ^= np.uint64(0xDD)
        for _ in range(4):
            a, b, c, d = _round(a, b, c, d)
        hashes[row, 1] = a ^ b ^ c ^ d
        start = ends[row]
