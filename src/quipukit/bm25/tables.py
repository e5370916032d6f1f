"""The compiled loops that make an index on disk: over sorted strings, and over the postings of sorted runs.

Imported only where they run, because the compiler is slow to load.
"""

import numpy as np

from quipukit.jit import numba


@numba.njit(nogil=True, cache=True)
def _compare(one, start, end, other, begin, stop):  # type: ignore[no-untyped-def]
    """Compare two strings by their bytes: negative, 0 or positive."""
    for place in range(min(end - start, stop - begin)):
        if one[start + place] != other[begin + place]:
            return np.int64(one[start + place]) - np.int64(other[begin + place])
    return (end - start) - (stop - begin)


@numba.njit(nogil=True, cache=True)
def find(content, starts, wanted, wanted_starts, rows):  # type: ignore[no-untyped-def]
    """Look strings up in a sorted table, by halves; -1 for one that it lacks."""
    for i in range(rows.shape[0]):
        low, high = 0, starts.shape[0] - 1
        rows[i] = -1
        while low < high:
            middle = (low + high) // 2
            order = _compare(
                content, starts[middle], starts[middle + 1], wanted, wanted_starts[i], wanted_starts[i + 1]
            )
            if order == 0:
                rows[i] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle


@numba.njit(nogil=True, cache=True)
def merge(one, one_starts, other, other_starts, of_one, of_other, content, starts):  # type: ignore[no-untyped-def]
    """Merge two sorted tables into one; return how many strings it has."""
    i, j, count, end = 0, 0, 0, 0
    while i < of_one.shape[0] or j < of_other.shape[0]:
        if i == of_one.shape[0]:
            order = 1
        elif j == of_other.shape[0]:
            order = -1
        else:
            order = _compare(one, one_starts[i], one_starts[i + 1], other, other_starts[j], other_starts[j + 1])
        if order <= 0:
            size = one_starts[i + 1] - one_starts[i]
            content[end : end + size] = one[one_starts[i] : one_starts[i + 1]]
            of_one[i] = count
            i += 1
        if order >= 0:
            size = other_starts[j + 1] - other_starts[j]
            content[end : end + size] = other[other_starts[j] : other_starts[j + 1]]
            of_other[j] = count
            j += 1
        end += size
        count += 1
        starts[count] = end
    return count


@numba.njit(nogil=True, cache=True)
def scatter(starts, rows, documents, frequencies, places, free, keys):  # type: ignore[no-untyped-def]
    """Put the postings of a run where their terms' postings go; ``free`` is the next free place of every term.

    A posting becomes one number, the document's place above its frequency, so that sorting it sorts both.
    """
    first = starts[0]
    for i in range(rows.shape[0]):
        at = free[rows[i]]
        for posting in range(starts[i] - first, starts[i + 1] - first):
            keys[at] = (np.int64(places[documents[posting]]) << 32) | np.int64(frequencies[posting])
            at += 1
        free[rows[i]] = at


@numba.njit(nogil=True, cache=True)
def encode(starts, keys, lengths, pairs, documents, codes):  # type: ignore[no-untyped-def]
    """Sort the postings of every term by document, and replace frequencies by codes.

    A code is the number, among ``pairs``, of the frequency (above) and the document's length (below).
    """
    for term in range(starts.shape[0] - 1):
        own = keys[starts[term] : starts[term + 1]]
        for i in range(1, own.shape[0]):
            if own[i] < own[i - 1]:
                own.sort()
                break
    for posting in range(keys.shape[0]):
        document = keys[posting] >> 32
        pair = (keys[posting] << 32) | np.int64(lengths[document])
        low, high = 0, pairs.shape[0]
        while low < high:
            middle = (low + high) // 2
            if pairs[middle] < pair:
                low = middle + 1
            else:
                high = middle
        documents[posting] = document
        codes[posting] = low
