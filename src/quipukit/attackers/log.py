"""The query log that an attacker ranks: distinct queries, with how often each was asked."""

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.bulk import hashes_of, keyed, keys
from quipukit.attackers.scratch import stored
from quipukit.attackers.texts import Block, Texts, chosen, kept, kept_blocks
from quipukit.errors import FileError, InputError
from quipukit.io.logs import LineQueries, read_log_file
from quipukit.text import divided, joined, key
from quipukit.threads import ahead

_AT_ONCE = 4096  # texts whose keys are made at a time
_END = ord("\n")
_ONCE: Sequence[int] = ()  # counts of texts that count 1 each
_ALL: Sequence[object] = ()  # texts that have something in them: all
_MANY = 250_000  # texts after which compiled code is worth loading
_SOUGHT = 1000  # queries for which no index is made


@dataclass(frozen=True, eq=False)
class QueryLog:
    """Distinct queries (by `text.key`, as first written) and their counts, which serve as a prior.

    The texts of a long log are in a file, and its queries are found by hashes of their keys.

    >>> log = QueryLog.of(["Cats", "cats ", "dogs"])
    >>> log.texts, log.counts.tolist(), log.row("CATS")
    (['Cats', 'dogs'], [2, 1], 0)
    """

    texts: Sequence[str]
    counts: NDArray[np.int64]
    hashes: NDArray[np.uint64]  # of the keys
    added: int = 0  # how many of the last texts are the originals that the log was completed with

    @property
    def public(self) -> Sequence[str]:
        """Return the texts that the log holds by itself."""
        return self.texts[: len(self.texts) - self.added]

    @classmethod
    def of(cls, texts: Iterable[str], counts: Iterable[int] | None = None) -> "QueryLog":
        """Make a log from texts; texts with nothing in them are left out."""
        numbers, times, count = list[NDArray[np.uint64]](), list[NDArray[np.int64]](), 0

        def checked() -> "Iterator[Block]":
            nonlocal count
            for often, content, sizes, filled, own in ahead(_hashed, _counted(texts, counts)):
                if not all(filled):
                    written = divided(content, np.asarray(sizes).tolist())
                    content, sizes = joined(list(itertools.compress(written, filled)))
                    often = often if often is _ONCE else list(itertools.compress(often, filled))
                numbers.append(own)
                times.append(np.ones(len(own), np.int64) if often is _ONCE else np.fromiter(often, np.int64, len(own)))
                count += len(own)
                yield content, sizes

        try:
            given = kept_blocks(checked())
        except OverflowError:
            raise _TOO_LARGE from None
        if not given:
            raise InputError("the query log holds no query; give a file with one query per line.")
        hashes, total = np.concatenate(numbers), np.concatenate(times)
        numbers.clear()
        times.clear()
        first = _first_rows(given, hashes)
        distinct = np.flatnonzero(first == np.arange(len(given)))
        if len(distinct) < len(given):
            # In floating point, sums that are too large stay large.
            if np.bincount(first, total).max() >= np.iinfo(np.int64).max:
                raise _TOO_LARGE
            once = total[distinct]
            again = np.flatnonzero(first != np.arange(len(given)))
            np.add.at(once, np.searchsorted(distinct, first[again]), total[again])
            given, hashes, total = chosen(given, distinct), hashes[distinct], once
        return cls(given, stored(total), stored(hashes))

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, text: str) -> int:
        """Return the row of a query, or -1 where the log does not have it."""
        hashes, rows = self._by_hash
        (number,) = hashes_of([key(text)])
        span = slice(*(int(np.searchsorted(hashes, number, side)) for side in ("left", "right")))
        return self._row_among(rows[span], key(text))

    def rows(self, texts: Sequence[str]) -> "NDArray[np.int64]":
        """Return the rows of some queries; where they are few, without an index of all that the log holds."""
        wanted = dict.fromkeys(map(key, texts))
        if "_by_hash" in self.__dict__ or len(wanted) > _SOUGHT:
            return np.array([self.row(text) for text in texts], np.int64)
        numbers = hashes_of(list(wanted))
        near = np.flatnonzero(np.isin(self.hashes, numbers))
        found = {
            identity: self._row_among(near[self.hashes[near] == number], identity)
            for identity, number in zip(wanted, numbers, strict=True)
        }
        return np.array([found[key(text)] for text in texts], np.int64)

    def _row_among(self, rows: "NDArray[np.int64]", identity: str) -> int:
        """Return which of some rows, whose hashes are equal, has a key; -1 where none has."""
        return next((row for row in rows.tolist() if key(self.texts[row]) == identity), -1)

    @cached_property
    def _by_hash(self) -> "tuple[NDArray[np.uint64], NDArray[np.int64]]":
        order = np.argsort(self.hashes)
        return stored(self.hashes[order]), stored(order)

    def completed(self, queries: Sequence[str]) -> "QueryLog":
        """Return the log with the queries added that it does not have, an empty one among them."""
        missing: dict[str, str] = {}
        for query, row in zip(queries, self.rows(queries).tolist(), strict=True):
            if row < 0:
                missing.setdefault(key(query), query)
        if not missing:
            return self
        counts = np.append(self.counts, np.zeros(len(missing), np.int64))
        hashes = np.append(self.hashes, hashes_of(list(missing)))
        added = missing.values()
        texts = self.texts.joined(added) if isinstance(self.texts, Texts) else kept(itertools.chain(self.texts, added))
        return QueryLog(texts, stored(counts), stored(hashes), self.added + len(missing))

    def sample(self, size: int, rng: np.random.Generator) -> "QueryLog":
        """Return a random subset, in the order of the log; the whole log where it is not larger."""
        if size >= len(self):
            return self
        rows = np.sort(rng.choice(len(self), size, replace=False))
        added = int((rows >= len(self) - self.added).sum())
        return QueryLog(chosen(self.texts, rows), self.counts[rows], self.hashes[rows], added)


_TOO_LARGE = InputError("the counts of the query log are too large to add up; check them.")


Sizes = Sequence[int] | NDArray[np.int64]
_Counted = tuple[bytes | list[str], Sequence[int], bool]


def _packed(texts: "bytes | list[str]") -> "tuple[bytes, Sizes]":
    """Return texts one after the other, and their sizes; those of a file are lines that end in LF."""
    if isinstance(texts, bytes):
        letters = np.frombuffer(texts if texts.endswith(b"\n") else texts + b"\n", np.uint8)
        ends = np.flatnonzero(letters == _END)
        return letters[letters != _END].tobytes(), np.diff(ends, prepend=-1) - 1
    for wrong in set(map(type, texts)):
        if not issubclass(wrong, str):
            raise InputError(f"the query log holds an entry that is no text ({wrong.__name__}); drop it.")
    return joined(texts)


def _hashed(block: "_Counted") -> "tuple[Sequence[int], bytes, Sizes, Sequence[object], NDArray[np.uint64]]":
    """Return texts and their counts, which of them have anything in them, and the hashes of their keys."""
    texts, often, many = block
    content, sizes = _packed(texts)
    if not many:
        identities = keys(divided(content, np.asarray(sizes).tolist()))
        return often, content, sizes, identities, hashes_of(list(filter(None, identities)))
    starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, np.int64))])
    _, lengths, hashes = keyed(np.frombuffer(content, np.uint8), starts)
    if lengths.all():
        return often, content, sizes, _ALL, hashes
    return often, content, sizes, lengths.tolist(), hashes[lengths > 0]


def _counted(texts: Iterable[str], counts: Iterable[int] | None) -> "Iterator[_Counted]":
    """Yield some texts after the other, with their counts, and whether there are so many that compiled code pays."""
    count = 0
    for some, often in _blocks(texts, counts):
        yield some, often, count >= _MANY
        count += some.count(b"\n") if isinstance(some, bytes) else len(some)


def _blocks(texts: Iterable[str], counts: Iterable[int] | None) -> "Iterator[tuple[bytes | list[str], Sequence[int]]]":
    """Yield some texts after the other, with their counts; `_ONCE` where each counts 1."""
    if counts is None and isinstance(texts, LineQueries):
        yield from ((block, _ONCE) for block in texts.blocks() if block)
    elif counts is None:
        rest = iter(texts)
        while some := list(itertools.islice(rest, _AT_ONCE)):
            yield some, _ONCE
    else:
        pairs = zip(texts, counts, strict=True)
        while both := list(itertools.islice(pairs, _AT_ONCE)):
            yield [text for text, _ in both], [count for _, count in both]


def _first_rows(texts: Sequence[str], hashes: "NDArray[np.uint64]") -> "NDArray[np.int64]":
    """Return for every row the first that holds the same query."""
    first = np.arange(len(texts))
    ordered = np.sort(hashes)  # much faster than to find their order, which few logs need
    if (ordered[1:] != ordered[:-1]).all():
        return first
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    same = np.flatnonzero(ordered[1:] == ordered[:-1])
    seen: dict[str, int] = {}
    for place in same.tolist():
        row, other = int(order[place]), int(order[place + 1])
        if not seen or hashes[row] != hashes[next(iter(seen.values()))]:
            seen = {key(texts[row]): row}
        first[other] = seen.setdefault(key(texts[other]), other)
    return first


def read_log(source: "str | os.PathLike[str] | Iterable[str]") -> QueryLog:
    """Read a query log: a text file (one query per line); TSV, CSV, JSON lines or Parquet with columns; or ``irds:ID``.

    The name of a collection that has a log of its own gives that one: ``wordnet`` is built in. `io.logs` has the layout
    of files; texts in any other iterable are taken as they come, each counting 1.
    """
    if not isinstance(source, str | os.PathLike):
        return QueryLog.of(source)
    name = os.fspath(source)
    if name.startswith("irds:"):
        from quipukit.collections.irds import log_queries

        return QueryLog.of(log_queries(name.removeprefix("irds:")))
    from quipukit.collections.load import collection_names, load_collection

    if name in collection_names():
        return QueryLog.of(load_collection(name).query_log())
    path = Path(name)
    try:
        return QueryLog.of(*read_log_file(path))
    except FileError:
        raise
    except InputError as fault:
        raise FileError(f"{path}: {fault}") from None
