"""Loops over the bytes of millions of texts: their keys, hashes, order, and how they stand in JSON.

A text is ``content[starts[r]:starts[r + 1]]``. Only `bulk`, `texts` and `log` use these, for long logs: compiled code
takes a second to load.
"""

import numpy as np

from quipukit.jit import numba

BASE = 0x9E3779B97F4A7C15  # of the polynomial that hashes a key, modulo 2^64
_INSERTED = 24  # rows that are sorted by insertion


@numba.njit(cache=True, nogil=True)
def plain_keys(content, starts, keys, key_starts, hashes):  # type: ignore[no-untyped-def]
    """Write the key of every text that is ASCII, one after the other; return how many are not.

    In lower case, words with one space between them, as `text.key` does; ``hashes`` gets a number for each. A text
    that is not ASCII gets an empty key, and ``key_starts`` a negative number: where it would have begun, less one.
    """
    end, others = 0, 0
    for row in range(len(starts) - 1):
        begin = end
        power, total = np.uint64(BASE), np.uint64(0)
        gap = False
        plain = True
        for place in range(starts[row], starts[row + 1]):
            letter = content[place]
            if letter >= 128:
                plain = False
                break
            if letter == 32 or 9 <= letter <= 13 or 28 <= letter <= 31:  # what str.split takes for white space
                gap = end > begin
                continue
            if gap:
                gap = False
                keys[end] = 32
                end += 1
                total += np.uint64(33) * power
                power *= np.uint64(BASE)
            if 65 <= letter <= 90:
                letter += 32
            keys[end] = letter
            end += 1
            total += (np.uint64(letter) + np.uint64(1)) * power
            power *= np.uint64(BASE)
        if not plain:
            end, total = begin, np.uint64(0)
            others += 1
        key_starts[row] = begin if plain else -begin - 1
        hashes[row] = total
    key_starts[len(starts) - 1] = end
    return others


@numba.njit(cache=True, nogil=True)
def _read_words(content, starts, order, first, last, depth, words, left):  # type: ignore[no-untyped-def]
    """Write eight bytes of each row as a number that orders as they do, zeros after its end; and how many there are."""
    for place in range(first, last):
        row = order[place]
        begin = starts[row] + depth
        count = max(0, min(8, starts[row + 1] - begin))
        word = np.uint64(0)
        for byte in range(count):
            word |= np.uint64(content[begin + byte]) << np.uint64(56 - 8 * byte)
        words[place - first], left[place - first] = word, count


@numba.njit(cache=True, nogil=True)
def spread(content, starts, order, depth, digits, counts):  # type: ignore[no-untyped-def]
    """Sort rows by two bytes, ``depth`` bytes after their beginnings; equal ones stay in the order in which they come.

    The rows of digit d are ``order[counts[d]:counts[d + 1]]`` then; one in which a text has ended is a multiple of 257.
    """
    counts[:] = 0
    for place in range(len(order)):
        begin, end = starts[order[place]] + depth, starts[order[place] + 1]
        first = np.int64(content[begin]) + 1 if begin < end else 0
        second = np.int64(content[begin + 1]) + 1 if begin + 1 < end else 0
        digits[place] = 257 * first + second
        counts[digits[place] + 1] += 1
    for digit in range(len(counts) - 1):
        counts[digit + 1] += counts[digit]
    rows = order.copy()
    for place in range(len(order)):
        order[counts[digits[place]]] = rows[place]
        counts[digits[place]] += 1
    for digit in range(len(counts) - 1, 0, -1):
        counts[digit] = counts[digit - 1]
    counts[0] = 0


@numba.njit(cache=True, nogil=True)
def sort_groups(content, starts, order, bounds):  # type: ignore[no-untyped-def]
    """Sort each group ``order[bounds[g, 0]:bounds[g, 1]]`` of rows whose first ``bounds[g, 2]`` bytes are equal.

    By eight bytes after the other, of those rows alone that are equal so far; a text that has ended is before one that
    goes on with zeros, and equal texts stay in the order in which they come.
    """
    longest = 0
    for group in range(len(bounds)):
        longest = max(longest, bounds[group, 1] - bounds[group, 0])
    words, left, rows = np.empty(longest, np.uint64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    pending = np.empty((longest + 1, 3), np.int64)
    for group in range(len(bounds)):
        pending[0] = bounds[group]
        waiting = 1
        while waiting:
            waiting -= 1
            first, last, deep = pending[waiting]
            count = last - first
            _read_words(content, starts, order, first, last, deep, words, left)
            if count <= _INSERTED:
                for place in range(1, count):
                    word, size, row, hole = words[place], left[place], order[first + place], place
                    while hole and words[hole - 1] > word:
                        words[hole], left[hole] = words[hole - 1], left[hole - 1]
                        order[first + hole] = order[first + hole - 1]
                        hole -= 1
                    words[hole], left[hole], order[first + hole] = word, size, row
            else:
                by = np.argsort(words[:count], kind="mergesort")
                rows[:count] = order[first:last]
                for place in range(count):
                    order[first + place] = rows[by[place]]
                rows[:count] = left[:count]
                for place in range(count):
                    left[place] = rows[by[place]]
                words[:count] = words[:count][by]
            for place in range(1, count):  # nearly never: a text that goes on with zeros, beside one that has ended
                hole = place
                while hole and words[hole - 1] == words[hole] and left[hole - 1] > left[hole]:
                    left[hole - 1], left[hole] = left[hole], left[hole - 1]
                    above = first + hole
                    order[above - 1], order[above] = order[above], order[above - 1]
                    hole -= 1
            begin = 0
            for place in range(1, count + 1):
                if place == count or words[place] != words[begin] or left[place] != left[begin]:
                    if place - begin > 1 and left[begin] == 8:
                        pending[waiting] = first + begin, first + place, deep + 8
                        waiting += 1
                    begin = place


@numba.njit(cache=True, nogil=True)
def gather(content, starts, rows, out):  # type: ignore[no-untyped-def]
    """Write the texts of some rows one after the other."""
    end = 0
    for row in rows:
        for place in range(starts[row], starts[row + 1]):
            out[end] = content[place]
            end += 1


@numba.njit(cache=True, nogil=True)
def quoted(content, starts, out):  # type: ignore[no-untyped-def]
    """Write texts as the strings of a JSON list, ``"a", "b"``; return the number of bytes, or -1.

    -1 where a text has anything that JSON escapes: then another way must be taken.
    """
    end = 0
    for row in range(len(starts) - 1):
        if row:
            out[end] = 44
            out[end + 1] = 32
            end += 2
        out[end] = 34
        end += 1
        for place in range(starts[row], starts[row + 1]):
            letter = content[place]
            if letter < 32 or letter >= 127 or letter in (34, 92):
                return -1
            out[end] = letter
            end += 1
        out[end] = 34
        end += 1
    return end
