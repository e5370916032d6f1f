"""A vocabulary as a one-dimensional list: each word is followed by the nearest word that is not in the list yet.

The list looks at nothing but the vectors and their public order, so it is public itself. Done word by word it would
take a pass over the vocabulary for each; here every word gets a list of its nearest free words, by products of whole
blocks, and a pass is needed only where such a list has run out. Lists are made anew, among the words that are left,
once the passes have cost about as much as that does.
"""

import numpy as np
from numpy.typing import NDArray

from quipukit.vectors.store import Vectors

Rows = NDArray[np.int64]

_NEAR = 48  # nearest free words that are kept for every word
_BATCH = 4096
_FASTER = 8  # times that a product in blocks is, for each pair of words, faster than a pass


def chain(vectors: Vectors) -> Rows:
    """Return the rows of a vocabulary in the order of its list, which begins with the first row; made once.

    >>> chain(Vectors(["a", "b", "c", "d"], [[0.0], [5.0], [1.0], [6.5]])).tolist()
    [0, 2, 1, 3]
    """
    return vectors.derived_on_disk("chain", lambda: _chained(np.asarray(vectors.matrix)))


def _chained(matrix: NDArray[np.float32]) -> Rows:
    from quipukit.vectors.nearest import distances

    order = np.empty(len(matrix), np.int64)
    order[0] = here = 0
    free = np.ones(len(matrix), bool)
    free[0] = False
    done = 1
    while done < len(matrix):
        # Rows of the words that are left, and of the one that the list ends with: it needs neighbors too.
        left = np.flatnonzero(free)
        places = np.ascontiguousarray(matrix[left])
        near = dict(zip([here, *left.tolist()], _nearest(places, left, matrix[np.append(here, left)]), strict=True))
        passes = 0
        while done < len(matrix) and passes * _FASTER <= len(matrix) - done:
            following = next((row for row in near[here] if free[row]), -1)
            if following < 0:
                away = distances(places, matrix[here].astype(np.float64))
                away[~free[left]] = np.inf
                following = int(left[np.argmin(away)])
                passes += 1
            order[done] = here = following
            free[here] = False
            done += 1
    return order


def _nearest(places: NDArray[np.float32], left: Rows, asking: NDArray[np.float32]) -> list[list[int]]:
    """Return the rows of the nearest places of each vector, nearest first; itself may be among them."""
    from quipukit.vectors.nearest import top_k

    half_norms = np.einsum("ij,ij->i", places, places, dtype=np.float64) / 2
    count = min(_NEAR + 1, len(left))
    return [
        near
        for start in range(0, len(asking), _BATCH)
        for near in left[top_k(places, half_norms, asking[start : start + _BATCH].astype(np.float64), count)].tolist()
    ]
