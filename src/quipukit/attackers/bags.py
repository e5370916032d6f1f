"""Which queries of a log have the same words, whatever their order: those that are to be compared once.

Sums of the same vectors in another order differ in their last bits, and so do products at another place of a matrix.
Queries with the same words must tie, so they share one sum and one score.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.scratch import room
from quipukit.attackers.tokens import Ids, LogTokens
from quipukit.intsort import sort_part
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
        rows = len(tokens)
        ids = room(tokens.ids.shape, np.int32, rows)
        starts, hashes = room((rows + 1,), np.int64, rows), room((rows,), np.uint64)
        of_row = room((rows,), np.int32)
        _sort(tokens.ids, tokens.starts, known, ids, starts, hashes)
        words, bags = _number(ids, starts, hashes, np.argsort(hashes, kind="stable"), of_row)
        kept, begins = room((words,), np.int32, rows), room((bags + 1,), np.int64, rows)
        _keep_distinct(ids, starts, of_row, kept, begins)
        return cls(kept, begins, of_row)

    def __len__(self) -> int:
        return len(self.starts) - 1


@numba.njit(nogil=True, cache=True)
def _sort(ids, starts, known, kept, begins, hashes):  # type: ignore[no-untyped-def]
    """Write the known words of every row in order, where each row begins, and a hash of each."""
    place = 0
    begins[0] = 0
    for row in range(starts.shape[0] - 1):
        for i in range(starts[row], starts[row + 1]):
            if known[ids[i]]:
                kept[place] = ids[i]
                place += 1
        sort_part(kept, begins[row], place)
        begins[row + 1] = place
        mixed = np.uint64(place - begins[row])
        for i in range(begins[row], place):
            mixed = (mixed ^ np.uint64(kept[i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        hashes[row] = mixed


@numba.njit(nogil=True, cache=True)
def _number(ids, starts, hashes, order, numbers):  # type: ignore[no-untyped-def]
    """Number bags by the first row that has them; rows with equal hashes are compared word by word.

    Returned are how many words all bags have together, and how many bags there are.
    """
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
    words, count = 0, 0
    for row in range(rows):
        if first[row] == row:
            numbers[row] = count
            words += starts[row + 1] - starts[row]
            count += 1
        else:
            numbers[row] = numbers[first[row]]
    return words, count


@numba.njit(nogil=True, cache=True)
def _keep_distinct(ids, starts, of_row, kept, begins):  # type: ignore[no-untyped-def]
    """Write the words of every bag, and where each begins: those of the first row that has it."""
    begins[0] = 0
    bag = 0
    for row in range(of_row.shape[0]):
        if of_row[row] == bag:
            length = starts[row + 1] - starts[row]
            for i in range(length):  # one by one: to assign a slice takes the compiler two seconds
                kept[begins[bag] + i] = ids[starts[row] + i]
            begins[bag + 1] = begins[bag] + length
            bag += 1
