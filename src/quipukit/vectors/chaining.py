"""A vocabulary as a one-dimensional list: each word is followed by the nearest word that is not in the list yet.

The list looks at nothing but the vectors and their public order, so it is public itself. Done word by word it would
take a pass over the vocabulary for each; here every word gets a list of its nearest free words, by products of whole
blocks, and a pass is needed only where such a list has run out. Lists are made anew, among the words that are left,
once the passes have cost about as much as that does.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quipukit.progress import Progress
from quipukit.vectors.store import Vectors

Rows = NDArray[np.int64]

_NEAR = 48  # nearest free words that are kept for every word
_BATCH = 2048
_SHOWN = 256  # words of the list between two reports of progress
_FASTER = 8  # times that a product in blocks is, for each pair of words, faster than a pass


def chain(vectors: Vectors, progress: Progress | None = None) -> Rows:
    """Return the rows of a vocabulary in the order of its list, which begins with the first row; made once.

    ``progress(done, total)`` is called while the list is made, in words.

    >>> chain(Vectors(["a", "b", "c", "d"], [[0.0], [5.0], [1.0], [6.5]])).tolist()
    [0, 2, 1, 3]
    """
    return vectors.derived_on_disk("chain", lambda: _chained(np.asarray(vectors.matrix), progress))


def _chained(matrix: NDArray[np.float32], progress: Progress | None = None) -> Rows:
    from quipukit.vectors.nearest import distances

    shown = 0.0

    def show(done: float) -> None:
        nonlocal shown
        shown = max(shown, done)
        if progress:
            progress(shown, len(matrix))

    order = np.empty(len(matrix), np.int64)
    order[0] = here = 0
    free = np.ones(len(matrix), bool)
    free[0] = False
    done = 1
    while done < len(matrix):
        # Rows of the words that are left, and of the one that the list ends with: it needs neighbors too.
        left = np.flatnonzero(free)
        places = np.ascontiguousarray(matrix[left])
        found = _nearest(places, left, matrix[np.append(here, left)], len(matrix), show)
        near = dict(zip([here, *left.tolist()], found, strict=True))
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
            if done % _SHOWN == 0:
                show(done)
    show(len(matrix))
    return order


def _nearest(
    places: NDArray[np.float32], left: Rows, asking: NDArray[np.float32], total: int, show: Callable[[float], None]
) -> list[list[int]]:
    """Return the rows of the nearest places of each vector, nearest first; itself may be among them."""
    from quipukit.vectors.nearest import top_k

    half_norms = np.einsum("ij,ij->i", places, places, dtype=np.float64) / 2
    count = min(_NEAR + 1, len(left))
    found: list[list[int]] = []
    done = total - len(left)
    for start in range(0, len(asking), _BATCH):
        some = asking[start : start + _BATCH].astype(np.float64)
        found += left[top_k(places, half_norms, some, count)].tolist()
        # To look for neighbors takes about as long as to go along them: half of what is left.
        show(done + len(left) * len(found) / len(asking) / 2)
    return found
