"""Sorting of whole numbers within compiled code.

numba's own sort takes two seconds to compile in each kernel that calls it, which is what a first run waits for.
"""

from typing import Any

from quipukit.jit import numba

_SHORT = 24


@numba.njit(nogil=True, cache=True)
def sort_part(values: Any, start: int, stop: int) -> None:
    """Sort ``values[start:stop]`` in place: a short part by insertion, a long one by a heap, whatever its order."""
    if stop - start <= _SHORT:
        for i in range(start + 1, stop):
            value, place = values[i], i
            while place > start and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
        return
    size = stop - start
    begin = size // 2
    while size > 1:
        # First the heap is made, from its last parent to its root; then the largest goes behind it, again and again.
        if begin > 0:
            begin -= 1
        else:
            size -= 1
            values[start], values[start + size] = values[start + size], values[start]
        parent = begin
        value = values[start + parent]
        while 2 * parent + 1 < size:
            child = 2 * parent + 1
            if child + 1 < size and values[start + child + 1] > values[start + child]:
                child += 1
            if values[start + child] <= value:
                break
            values[start + parent] = values[start + child]
            parent = child
        values[start + parent] = value
