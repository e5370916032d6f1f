"""Millions of strings as one array of bytes, which can be mapped from a file and looked up in."""

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

# Up to this many strings are decoded once, as soon as one is asked for: up to 200 bytes each, and quicker to get.
DECODED = 500_000


@dataclass(frozen=True, eq=False)
class StringTable:
    """Distinct strings in the order of their code points, as UTF-8, which has the same order.

    >>> table = StringTable.of(["a", "bee", "ä"])
    >>> table.find(["ä", "bees"]).tolist(), table.take(np.array([1, 0]))
    ([2, -1], ['bee', 'a'])
    """

    content: NDArray[np.uint8]
    starts: Rows
    decoded: int = DECODED

    def __post_init__(self) -> None:
        # Mapped arrays can only be read. If all are so, loops over them are compiled once.
        for name in ("content", "starts"):
            array = getattr(self, name).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, ordered: Iterable[str], decoded: int = DECODED) -> "StringTable":
        """Make a table of strings that are in order already."""
        return cls(*_joined(ordered), decoded)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: Rows) -> list[str]:
        """Return strings by their numbers; equal numbers give the same object."""
        if len(self) <= self.decoded:
            strings = self._strings
            return [strings[row] for row in rows.tolist()]
        distinct, inverse = np.unique(rows, return_inverse=True)
        texts = [
            self.content[start:end].tobytes().decode("utf-8", "surrogatepass")
            for start, end in zip(self.starts[distinct].tolist(), self.starts[distinct + 1].tolist(), strict=True)
        ]
        return [texts[place] for place in inverse.tolist()]

    def find(self, strings: Sequence[str]) -> Rows:
        """Return the numbers of strings; -1 for one that the table lacks."""
        if len(self) <= self.decoded:
            rows_of = self._rows
            return np.fromiter((rows_of.get(string, -1) for string in strings), np.int64, len(strings))
        from quipukit.bm25.tables import find

        rows = np.empty(len(strings), np.int64)
        find(self.content, self.starts, *_joined(strings), rows)
        return rows

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        return {string: row for row, string in enumerate(self._strings)}

    @functools.cached_property
    def _strings(self) -> list[str]:
        content, bounds = self.content.tobytes(), self.starts.tolist()
        return [content[start:end].decode("utf-8", "surrogatepass") for start, end in itertools.pairwise(bounds)]


def merged(tables: Sequence[StringTable]) -> tuple[StringTable, list[NDArray[np.int32]]]:
    """Return one table of the strings of several, and the numbers that the strings of each have in it."""
    if len(tables) == 1:
        return tables[0], [np.arange(len(tables[0]), dtype=np.int32)]
    # By halves: a string is compared as often as the tables can be halved.
    half = len(tables) // 2
    one, first = merged(tables[:half])
    other, second = merged(tables[half:])
    both, of_one, of_other = _merged_two(one, other)
    return both, [of_one[rows] for rows in first] + [of_other[rows] for rows in second]


def _merged_two(one: StringTable, other: StringTable) -> tuple[StringTable, NDArray[np.int32], NDArray[np.int32]]:
    from quipukit.bm25.tables import merge

    rows = np.empty(len(one), np.int32), np.empty(len(other), np.int32)
    content = np.empty(len(one.content) + len(other.content), np.uint8)
    starts = np.zeros(len(one) + len(other) + 1, np.int64)
    count = merge(one.content, one.starts, other.content, other.starts, *rows, content, starts)
    return StringTable(content[: starts[count]].copy(), starts[: count + 1].copy()), *rows


def _joined(strings: Iterable[str]) -> tuple[NDArray[np.uint8], Rows]:
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]  # a docno may hold anything
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return np.frombuffer(b"".join(encoded), np.uint8), np.concatenate([[0], np.cumsum(lengths)])
