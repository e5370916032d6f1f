"""Which queries of a log have the same words, whatever their order: those that are to be compared once.

Sums of the same vectors in another order differ in their last bits, and so do products at another place of a matrix.
Queries with the same words must tie, so they share one sum and one score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.tokens import Ids, LogTokens
from quipukit.jit import numba


@dataclass(frozen=True, eq=False)
class Bags:
    """The distinct bags of words of a log: bag b is ``ids[starts[b]:starts[b + 1]]``, and row r has ``of_row[r]``.

    Words that are not ``known`` do not count. Bags stand in the order of the first rows that have them.

    >>> tokens = LogTokens.of(["cat food", "zzz", "food zzz cat"])
    >>> bags = Bags.of(tokens, np.array([True, True, False]))
    >>> bags.of_row.tolist(), bags.ids.tolist(), bags.starts.tolist()
    ([0, 1, 0], [0, 1], [0, 2, 2])
    """

    ids: Ids
    starts: "NDArray[np.int64]"
    of_row: Ids

    @classmethod
    def of(cls, tokens: LogTokens, known: "NDArray[np.bool_]") -> "Bags":
        """Sort the known words of every query, and number the bags that differ."""
        ids, starts, hashes = _sorted(tokens.ids, tokens.starts, known)
        of_row = _numbered(ids, starts, hashes, np.argsort(hashes, kind="stable"))
        kept, begins = _distinct(ids, starts, of_row)
        return cls(kept, begins, of_row)

    def __len__(self) -> int:
        return len(self.starts) - 1


@numba.njit(nogil=True, cache=True)
def _sorted(ids, starts, known):  # type: ignore[no-untyped-def]
    """Return the known words of every row in order, where each row begins, and a hash of each."""
    rows = starts.shape[0] - 1
    kept, begins, hashes = np.empty_like(ids), np.zeros(rows + 1, np.int64), np.empty(rows, np.uint64)
    place = 0
    for row in range(rows):
        for i in range(starts[row], starts[row + 1]):
            if known[ids[i]]:
                kept[place] = ids[i]
                place += 1
        kept[begins[row] : place].sort()
        begins[row + 1] = place
        mixed = np.uint64(place - begins[row])
        for i in range(begins[row], place):
            mixed = (mixed ^ np.uint64(kept[i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[row] = mixed
    return kept[:place], begins, hashes


@numba.njit(nogil=True, cache=True)
def _numbered(ids, starts, hashes, order):  # type: ignore[no-untyped-def]
    """Number bags by the first row that has them; rows with equal hashes are compared word by word."""
    rows = order.shape[0]
    first = np.empty(rows, np.int64)  # the first row with the same bag
    begin = 0  # of the rows with this hash; their order is that of the log
    for place in range(rows):
        row = order[place]
        if hashes[row] != hashes[order[begin]]:
            begin = place
        first[row] = row
        length = starts[row + 1] - starts[row]
        for earlier in range(begin, place):
            other = order[earlier]
            if first[other] != other or starts[other + 1] - starts[other] != length:
                continue
            same = True
            for i in range(length):
                if ids[starts[row] + i] != ids[starts[other] + i]:
                    same = False
                    break
            if same:
                first[row] = other
                break
    numbers = np.empty(rows, np.int32)
    count = 0
    for row in range(rows):
        if first[row] == row:
            numbers[row] = count
            count += 1
        else:
            numbers[row] = numbers[first[row]]
    return numbers


@numba.njit(nogil=True, cache=True)
def _distinct(ids, starts, of_row):  # type: ignore[no-untyped-def]
    """Return the words of every bag, and where each begins: those of the first row that has it."""
    words, bags = 0, 0
    for row in range(of_row.shape[0]):
        if of_row[row] == bags:
            words += starts[row + 1] - starts[row]
            bags += 1
    kept, begins = np.empty(words, np.int32), np.zeros(bags + 1, np.int64)
    bag = 0
    for row in range(of_row.shape[0]):
        if of_row[row] == bag:
            length = starts[row + 1] - starts[row]
            kept[begins[bag] : begins[bag] + length] = ids[starts[row] : starts[row + 1]]
            begins[bag + 1] = begins[bag] + length
            bag += 1
    return kept, begins
