"""The texts of a long log, in a file: as objects of Python ten million of them take 2 GB with what finds them again."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers import scratch
from quipukit.attackers.bulk import keyed
from quipukit.text import PackedTexts, divided, joined, key
from quipukit.threads import ahead, in_threads, workers

_BLOCK = 8192  # texts that are read or written at a time
_RUN = 250_000  # texts that are sorted as objects of Python
_FEW = 4096  # rows that are sorted by one thread
_LOTS = 8  # of rows, for each thread
_DEEPEST = 16  # bytes of very many rows that are sorted by two at a time
_COPIED = 1 << 24  # bytes that are copied at a time


Block = tuple[bytes, Sequence[int] | NDArray[np.integer]]  # texts one after the other, and their sizes


class Texts(PackedTexts):
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
        rest = iter(texts)
        return cls.of_blocks(joined(some) for some in iter(lambda: list(itertools.islice(rest, _BLOCK)), []))

    @classmethod
    def of_blocks(cls, blocks: "Iterable[Block]") -> "Texts":
        """Write texts that come many at a time, as `joined` has them."""
        sizes: list[NDArray[np.uint32]] = []

        def contents() -> Iterator[bytes]:
            for content, own in blocks:
                sizes.append(np.asarray(own, np.uint32))
                yield content

        content = scratch.gathered(contents(), np.uint8, 0)
        lengths = np.concatenate([np.empty(0, np.uint32), *sizes])
        starts = scratch.room((len(lengths) + 1,), np.int64)
        starts[0] = 0
        np.cumsum(lengths, dtype=np.int64, out=starts[1:])
        return cls(content, starts)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _BLOCK):
            content, sizes = self[start : start + _BLOCK].packed()
            yield from divided(content, sizes.tolist())

    def __getitem__(self, place: Any) -> Any:
        if not isinstance(place, slice):
            row = range(len(self))[place]
            return _decoded(self._content[self._starts[row] : self._starts[row + 1]].tobytes())
        rows = range(len(self))[place]
        if rows.step != 1:
            return [self[row] for row in rows]
        return Texts(self._content, self._starts[rows.start : max(rows.start, rows.stop) + 1])

    @property
    def sizes(self) -> "NDArray[np.int64]":
        """Return the number of bytes of each text."""
        return np.diff(self._starts)

    def packed(self, rows: "NDArray[np.int64] | None" = None) -> "tuple[bytes, NDArray[np.int64]]":
        """Return texts, all or those of some rows, one after the other, and the number of bytes of each."""
        if rows is None:
            return self._content[self._starts[0] : self._starts[-1]].tobytes(), self.sizes
        from quipukit.attackers.textkernels import gather  # numba, which takes a second to load
        from quipukit.jit import fixed

        sizes = self._starts[rows + 1] - self._starts[rows]
        content = np.empty(sizes.sum(), np.uint8)
        gather(fixed(self._content), fixed(self._starts), rows, content)
        return content.tobytes(), sizes

    def take(self, rows: "NDArray[np.int64]") -> "Texts":
        """Return the texts of some rows, in their order."""
        starts = scratch.room((len(rows) + 1,), np.int64)
        starts[0] = 0
        np.cumsum(self.sizes[rows], out=starts[1:])
        some = (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
        parts = ahead(lambda own: self.packed(own)[0], some)
        return Texts(scratch.gathered(parts, np.uint8, len(rows)), starts)

    def blocks(self, rows: int = _BLOCK) -> "Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]":
        """Iterate over the bytes of some texts after the other, and where each of them begins there."""
        for start in range(0, len(self), rows):
            bounds = self._starts[start : start + rows + 1]
            yield self._content[bounds[0] : bounds[-1]], bounds - bounds[0]

    def keys(self) -> "Texts":
        """Return the keys of these texts."""
        lengths = np.empty(len(self), np.int64)
        done = 0

        def parts() -> Iterator[bytes]:
            nonlocal done
            for keys, sizes, _ in ahead(lambda block: keyed(*block), self.blocks()):
                lengths[done : done + len(sizes)] = sizes
                done += len(sizes)
                yield keys

        content = scratch.gathered(parts(), np.uint8, len(self))
        starts = scratch.room((len(self) + 1,), np.int64)
        starts[0] = 0
        np.cumsum(lengths, out=starts[1:])
        return Texts(content, starts)

    def as_json(self, rows: int = _BLOCK) -> Iterator[bytes]:
        """Iterate over some texts after the other as they stand in a JSON list, in ASCII.

        >>> list(Texts.of(["cats", 'a "dog"', "caf\u00e9"]).as_json(2))
        [b'"cats", "a \\\\"dog\\\\""', b'"caf\\\\u00e9"']
        """
        from quipukit.attackers.textkernels import quoted  # numba, which takes a second to load
        from quipukit.jit import fixed

        def written(block: "tuple[NDArray[np.uint8], NDArray[np.int64]]") -> bytes:
            content, starts = block
            room = np.empty(len(content) + 4 * len(starts), np.uint8)
            size = quoted(fixed(content), fixed(starts), room)
            if size >= 0:
                return room[:size].tobytes()
            texts = [_decoded(content[begin:end].tobytes()) for begin, end in itertools.pairwise(starts.tolist())]
            return json.dumps(texts)[1:-1].encode()

        yield from ahead(written, self.blocks(rows), 8)

    def joined(self, more: Iterable[str]) -> "Texts":
        """Return these texts, and more after them."""
        added = [text.encode("utf-8", "surrogatepass") for text in more]
        first, last = int(self._starts[0]), int(self._starts[-1])
        blocks = (self._content[start : min(start + _COPIED, last)].tobytes() for start in range(first, last, _COPIED))
        content = scratch.gathered(itertools.chain(blocks, added), np.uint8, len(self) + len(added))
        starts = scratch.room((len(self) + len(added) + 1,), np.int64, len(self))
        starts[: len(self) + 1] = self._starts - first
        starts[len(self) + 1 :] = starts[len(self)] + np.cumsum(np.array(list(map(len, added)), np.int64))
        return Texts(content, starts)

    def order(self) -> "NDArray[np.int64]":
        """Return the rows in alphabetical order, by the code points of their characters; equal ones as they come.

        By two bytes after the other where very many rows are equal so far; what is left is divided among threads. In
        UTF-8 bytes order as characters do.
        """
        from quipukit.attackers.textkernels import sort_groups, spread  # numba, which takes a second to load
        from quipukit.jit import fixed

        order, digits, counts = np.arange(len(self)), np.empty(len(self), np.int32), np.empty(257 * 257 + 1, np.int64)
        content, starts = fixed(self._content), fixed(self._starts)
        few = max(_FEW, len(self) // (_LOTS * workers()))
        pending, left = [(0, len(self), 0)], [np.empty((0, 3), np.int64)]
        while pending:
            first, last, depth = pending.pop()
            spread(content, starts, order[first:last], depth, digits, counts)
            sizes = np.diff(counts)
            equal = np.flatnonzero((sizes > 1) & (np.arange(len(sizes)) % 257 > 0))  # so far
            many = (sizes[equal] > few) & (depth < _DEEPEST)
            groups = np.column_stack([first + counts[equal], first + counts[equal + 1], np.full(len(equal), depth + 2)])
            pending += map(tuple, groups[many].tolist())
            left.append(groups[~many])
        groups = np.concatenate(left)
        ends = np.cumsum(groups[:, 1] - groups[:, 0])
        lots = np.split(groups, np.searchsorted(ends, np.arange(few, ends[-1] if len(ends) else 0, few)))
        in_threads(lambda lot: sort_groups(content, starts, order, lot), lots)
        return order


def kept(texts: Iterable[str]) -> Sequence[str]:
    """Return texts in a list, or in a file where they are those of a long log."""
    rest = iter(texts)
    first = list(itertools.islice(rest, scratch.LONG + 1))
    return Texts.of(itertools.chain(first, rest)) if scratch.is_long(len(first)) else first


def kept_blocks(blocks: "Iterable[Block]") -> Sequence[str]:
    """Return texts that come many at a time, as `joined` has them, as `kept` does."""
    rest, first, count = iter(blocks), list[Block](), 0
    for block in rest:
        first.append(block)
        count += len(block[1])
        if scratch.is_long(count):
            return Texts.of_blocks(itertools.chain(first, rest))
    return [text for content, sizes in first for text in divided(content, np.asarray(sizes).tolist())]


def chosen(texts: Sequence[str], rows: "NDArray[np.int64]") -> Sequence[str]:
    """Return some of the texts, in a list or in a file as `kept` has it."""
    if isinstance(texts, Texts) and scratch.is_long(len(rows)):
        return texts.take(rows)
    return kept(texts[row] for row in rows.tolist())


def alphabetical(texts: Sequence[str]) -> "NDArray[np.int64]":
    """Return the rows of texts in the order of their keys, which differ; those of a long log are in a file.

    >>> alphabetical(["Dogs", "cats"]).tolist()
    [1, 0]
    """
    if len(texts) > _RUN:
        return (texts if isinstance(texts, Texts) else Texts.of(texts)).keys().order()
    keys = [key(text) for text in texts]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")
