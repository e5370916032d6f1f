"""Keys and hashes of many queries at a time: one by one, those of ten million take longer than a cluster ranks them."""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.text import joined, key

# A polynomial over the bytes, modulo 2^64: keys that share a number are compared, so that it need not be a strong hash.
_BASE = 0x9E3779B97F4A7C15
_END, _SPACE, _ASCII = ord("\n"), ord(" "), 128


def keys(texts: Sequence[str]) -> list[str]:
    """Return the keys of texts: the plain ones in lower case, all others by `text.key`.

    >>> keys(["Cats", " two  dogs "])
    ['cats', 'two dogs']
    """
    lines = "\n".join(texts)
    found = lines.lower().split("\n")
    if len(found) != len(texts):  # a line end inside a text
        return list(map(key, texts))
    letters = np.frombuffer(lines.encode("utf-8", "surrogatepass"), np.uint8)
    white = letters <= _SPACE
    peculiar = (letters >= _ASCII) | (white & (letters != _SPACE) & (letters != _END))
    peculiar[1:] |= white[1:] & white[:-1]  # more than a space between words, or one at an end
    if len(letters):
        peculiar[0] |= white[0]
        peculiar[-1] |= white[-1]
    places = np.flatnonzero(peculiar)
    if len(places):
        ends = np.flatnonzero(letters == _END)
        # An end belongs to the text before it, and where a space follows it is that of the text after it.
        for row in np.union1d(np.searchsorted(ends, places), np.searchsorted(ends, places, side="right")).tolist():
            found[row] = key(texts[row])
    return found


def hashes_of(texts: Sequence[str]) -> "NDArray[np.uint64]":
    """Return a number for each text, the same in every process; equal texts have equal ones, others nearly never.

    >>> cat, dog, again = hashes_of(["cat", "dog", "cat"])
    >>> bool(cat == again), bool(cat == dog)
    (True, False)
    """
    content, lengths = joined(texts)
    sizes = np.array(lengths, np.int64)
    ends = np.cumsum(sizes)
    letters = np.frombuffer(content, np.uint8).astype(np.uint64) + np.uint64(1)
    place = np.arange(len(letters)) - np.repeat(ends - sizes, sizes)
    letters *= _powers(int(sizes.max(initial=0)).bit_length())[place]
    totals = np.zeros(len(letters) + 1, np.uint64)
    np.cumsum(letters, out=totals[1:])
    return totals[ends] - totals[ends - sizes]


@functools.lru_cache(maxsize=32)
def _powers(bits: int) -> "NDArray[np.uint64]":
    return np.multiply.accumulate(np.full(1 << bits, _BASE, np.uint64))


def keyed(
    content: "NDArray[np.uint8]", starts: "NDArray[np.int64]"
) -> "tuple[bytes, NDArray[np.int64], NDArray[np.uint64]]":
    """Return the keys of texts in UTF-8, one after the other; their lengths; and their hashes, as `hashes_of` has them.

    Text r is ``content[starts[r]:starts[r + 1]]``.

    >>> content, sizes, hashes = keyed(np.frombuffer(b"Cats two  dogs", np.uint8), np.array([0, 4, 14]))
    >>> content, sizes.tolist(), (hashes == hashes_of(["cats", "two dogs"])).all()
    (b'catstwo dogs', [4, 8], np.True_)
    """
    from quipukit.attackers.textkernels import plain_keys  # numba, which takes a second to load
    from quipukit.jit import fixed

    room, places = np.empty(len(content), np.uint8), np.empty(len(starts), np.int64)
    hashes = np.empty(len(starts) - 1, np.uint64)
    others = plain_keys(fixed(content), fixed(starts), room, places, hashes)
    ends = np.where(places < 0, -places - 1, places)
    if not others:
        return room[: ends[-1]].tobytes(), np.diff(ends), hashes
    sizes, parts, done = np.diff(ends), [], 0
    for row in np.flatnonzero(places < 0).tolist():
        text = content[starts[row] : starts[row + 1]].tobytes().decode("utf-8", "surrogatepass")
        own = key(text)
        parts += [room[done : ends[row]].tobytes(), own.encode("utf-8", "surrogatepass")]
        done, sizes[row], hashes[row] = int(ends[row]), len(parts[-1]), hashes_of([own])[0]
    return b"".join([*parts, room[done : ends[-1]].tobytes()]), sizes, hashes
