"""The sums of word vectors, compiled: a gigabyte of vectors is not copied to double precision to be added up."""

from typing import Any

import numpy as np

from quipukit.intsort import sort_part
from quipukit.jit import numba


@numba.njit(cache=True, nogil=True)
def add_up(rows: Any, starts: Any, matrix: Any, weights: Any, sums: Any) -> None:
    """Add the weighted vectors of each text's words to its line of ``sums``, in the order of the vocabulary.

    A word that comes several times is added once, with as many times its weight.
    """
    for text in range(len(starts) - 1):
        words = rows[starts[text] : starts[text + 1]].copy()
        sort_part(words, 0, len(words))
        place = 0
        while place < len(words):
            row, count = words[place], 0.0
            while place < len(words) and words[place] == row:
                count += 1.0
                place += 1
            factor = count * np.float64(weights[row])
            for column in range(matrix.shape[1]):
                sums[text, column] += factor * np.float64(matrix[row, column])
