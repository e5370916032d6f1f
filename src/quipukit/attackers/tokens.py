"""The words of a query log, as numbers: what every attacker that looks at words starts from."""

import itertools
import sys
from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.scratch import gathered, is_long, room, stored
from quipukit.jit import numba
from quipukit.text import tokenize

Ids = NDArray[np.int32]
_BLOCK = 8192  # texts that are divided at a time
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
        starts = room((len(texts) + 1,), np.int64)
        starts[0] = 0
        rows = enumerate(texts)

        def blocks() -> Iterator[bytes]:
            before = 0
            while some := list(itertools.islice(rows, _BLOCK)):
                ids = array("i")
                for row, text in some:
                    ids.extend([number.setdefault(word, len(number)) for word in tokenize(text)])
                    starts[row + 1] = before + len(ids)
                before += len(ids)
                yield ids.tobytes()

        long = is_long(len(texts))
        ids = gathered(blocks(), np.int32, len(texts)) if long else np.frombuffer(b"".join(blocks()), np.int32)
        return cls(list(number), _fixed(ids), _fixed(starts))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def with_row(self, text: str) -> "LogTokens":
        """Return the words of the log with one more query at its end; the others are not divided again.

        >>> LogTokens.of(["cat food", "food"]).with_row("dog food").ids.tolist()
        [0, 1, 1, 2, 1]
        """
        own = tokenize(text)
        new = dict.fromkeys(word for word in own if word not in self.number)
        number = {word: len(self.words) + place for place, word in enumerate(new)}
        ids = np.append(self.ids, np.array([number.get(word, self.number.get(word)) for word in own], np.int32))
        starts = np.append(self.starts, len(ids))
        return LogTokens([*self.words, *new], _fixed(ids), _fixed(starts))

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
        return _fixed(stored(np.diff(self.starts).astype(np.int32)))

    @cached_property
    def longest(self) -> int:
        """Return the largest number of words."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def frequencies(self) -> NDArray[np.int64]:
        """Return in how many queries every word occurs, each counted once; at least 1."""
        return _fixed(_in_rows(self.ids, self.starts, len(self.words)))


@numba.njit(nogil=True, cache=True)
def _in_rows(ids, starts, words):  # type: ignore[no-untyped-def]
    """Return in how many rows every number occurs."""
    counts, last = np.zeros(words, np.int64), np.full(words, -1, np.int64)
    for row in range(starts.shape[0] - 1):
        for place in range(starts[row], starts[row + 1]):
            if last[ids[place]] != row:
                last[ids[place]] = row
                counts[ids[place]] += 1
    return counts


def _fixed(numbers: NDArray[_I]) -> NDArray[_I]:  # shared by attackers: none may change it
    numbers.flags.writeable = False
    return numbers
