"""The words of a query log, as numbers: what every attacker that looks at words starts from."""

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quipukit.text import tokenize

Ids = NDArray[np.int32]
_I = TypeVar("_I", bound=np.integer[Any])
_T = TypeVar("_T")


@lru_cache(maxsize=1024)
def divided(texts: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Divide texts into words, once for all attackers that look at what was sent."""
    return tuple(tuple(map(sys.intern, tokenize(text))) for text in texts)


@dataclass(frozen=True, eq=False)
class LogTokens:
    """Every query of a log as a row of word numbers: row r is ``ids[starts[r]:starts[r + 1]]``.

    >>> tokens = LogTokens.of(["cat food", "food"])
    >>> tokens.words, tokens.ids.tolist(), tokens.starts.tolist()
    (['cat', 'food'], [0, 1, 1], [0, 2, 3])
    """

    words: list[str]
    ids: Ids
    starts: NDArray[np.int64]
    _memo: "dict[Hashable, Any]" = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, texts: Sequence[str]) -> "LogTokens":
        """Divide texts into words, and number the words in the order in which they come."""
        number: dict[str, int] = {}
        ids: list[int] = []
        starts = np.zeros(len(texts) + 1, np.int64)
        for row, text in enumerate(texts):
            ids += [number.setdefault(word, len(number)) for word in tokenize(text)]
            starts[row + 1] = len(ids)
        return cls(list(number), _fixed(np.array(ids, np.int32)), _fixed(starts))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def derived(self, key: Hashable, build: Callable[[], _T]) -> _T:
        """Return something computed from the log, computing it once for all attackers; none of them may change it."""
        if key not in self._memo:
            self._memo[key] = build()
        value: _T = self._memo[key]
        return value

    @cached_property
    def number(self) -> dict[str, int]:
        """Return the number of every word."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def lengths(self) -> Ids:
        """Return how many words every query has."""
        return _fixed(np.diff(self.starts).astype(np.int32))

    @cached_property
    def frequencies(self) -> NDArray[np.int64]:
        """Return in how many queries every word occurs, each counted once; at least 1."""
        rows = np.repeat(np.arange(len(self)), self.lengths)
        pairs = np.unique(rows * max(1, len(self.words)) + self.ids)  # as one number, which sorts ten times faster
        return _fixed(np.bincount(pairs % max(1, len(self.words)), minlength=len(self.words)))


def _fixed(array: NDArray[_I]) -> NDArray[_I]:  # shared by attackers: none may change it
    array.flags.writeable = False
    return array
