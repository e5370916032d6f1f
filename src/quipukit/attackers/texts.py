"""The texts of a long log, in a file: as objects of Python ten million of them take 2 GB with what finds them again."""

import heapq
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers import scratch
from quipukit.text import key

_BLOCK = 8192  # texts that are read or written at a time
_RUN = 250_000  # texts that are sorted at a time


class Texts(Sequence[str]):
    """Texts in a file: text r is ``content[starts[r]:starts[r + 1]]``, in UTF-8. They cannot be changed.

    >>> texts = Texts.of(["cats", "dogs", "birds"])
    >>> len(texts), texts[-1], list(texts[:2])
    (3, 'birds', ['cats', 'dogs'])
    """

    def __init__(self, content: "NDArray[np.uint8]", starts: "NDArray[np.int64]") -> None:
        """Take texts that have been written."""
        self._content, self._starts = content, starts

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """Write texts as they come."""
        lengths, rest = array("I"), iter(texts)

        def blocks() -> Iterator[bytes]:
            while some := [text.encode("utf-8", "surrogatepass") for text in itertools.islice(rest, _BLOCK)]:
                lengths.extend(map(len, some))
                yield b"".join(some)

        content = scratch.gathered(blocks(), np.uint8, len(lengths))
        starts = scratch.room((len(lengths) + 1,), np.int64)
        starts[0] = 0
        np.cumsum(np.frombuffer(lengths, np.uint32), dtype=np.int64, out=starts[1:])
        return cls(content, starts)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            bounds = self._starts[start : start + _BLOCK + 1].tolist()
            block = self._content[bounds[0] : bounds[-1]].tobytes()
            for begin, end in itertools.pairwise(bounds):
                yield block[begin - bounds[0] : end - bounds[0]].decode("utf-8", "surrogatepass")

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            row = range(len(self))[place]
            return self._content[self._starts[row] : self._starts[row + 1]].tobytes().decode("utf-8", "surrogatepass")
        rows = range(len(self))[place]
        if rows.step != 1:
            return [self[row] for row in rows]
        return Texts(self._content, self._starts[rows.start : max(rows.start, rows.stop) + 1])


def kept(texts: Iterable[str]) -> Sequence[str]:
    """Return texts in a list, or in a file where they are those of a long log."""
    rest = iter(texts)
    first = list(itertools.islice(rest, scratch.LONG + 1))
    return Texts.of(itertools.chain(first, rest)) if scratch.is_long(len(first)) else first


def alphabetical(texts: Sequence[str]) -> "NDArray[np.int64]":
    """Return the rows of texts in the order of their keys, which differ; few keys are in memory at a time.

    >>> alphabetical(["Dogs", "cats"]).tolist()
    [1, 0]
    """
    runs = []
    for start in range(0, len(texts), _RUN):
        keys = [key(text) for text in texts[start : start + _RUN]]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        rows = array("q", [start + row for row in order])
        if len(keys) == len(texts):
            return np.array(rows, np.int64)
        runs.append(zip(Texts.of(keys[row] for row in order), rows, strict=True))
    return np.fromiter((row for _, row in heapq.merge(*runs)), np.int64, len(texts))
