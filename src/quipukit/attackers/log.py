"""The query log that an attacker ranks: distinct queries, with how often each was asked."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import FileError, InputError
from quipukit.io.logs import read_log_file
from quipukit.text import key


@dataclass(frozen=True, eq=False)
class QueryLog:
    """Distinct queries (by `text.key`, as first written) and their counts, which serve as a prior.

    >>> log = QueryLog.of(["Cats", "cats ", "dogs"])
    >>> log.texts, log.counts.tolist(), log.row("CATS")
    (['Cats', 'dogs'], [2, 1], 0)
    """

    texts: list[str]
    counts: NDArray[np.int64]
    rows: dict[str, int]
    added: int = 0  # how many of the last texts are the originals that the log was completed with

    @property
    def public(self) -> list[str]:
        """Return the texts that the log holds by itself."""
        return self.texts[: len(self.texts) - self.added]

    @classmethod
    def of(cls, texts: Iterable[str], counts: Iterable[int] | None = None) -> "QueryLog":
        """Make a log from texts; texts with nothing in them are left out."""
        rows: dict[str, int] = {}
        kept: list[str] = []
        total: list[int] = []
        for text, count in zip(texts, _ones() if counts is None else counts, strict=counts is not None):
            if not isinstance(text, str):
                raise InputError(f"the query log holds an entry that is no text ({type(text).__name__}); drop it.")
            identity = key(text)
            if not identity:
                continue
            # Most queries are written as their key is: two equal texts would take twice the memory.
            row = rows.setdefault(text if text == identity else identity, len(kept))
            if row == len(kept):
                kept.append(text)
                total.append(0)
            total[row] += count
        if not kept:
            raise InputError("the query log holds no query; give a file with one query per line.")
        if max(total) > np.iinfo(np.int64).max:
            raise InputError("the counts of the query log are too large to add up; check them.")
        return cls(kept, np.array(total, np.int64), rows)

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, text: str) -> int:
        """Return the row of a query, or -1 where the log does not have it."""
        return self.rows.get(key(text), -1)

    def completed(self, queries: Sequence[str]) -> "QueryLog":
        """Return the log with the queries added that it does not have, an empty one among them."""
        missing: dict[str, str] = {}
        for query in queries:
            if key(query) not in self.rows:
                missing.setdefault(key(query), query)
        if not missing:
            return self
        rows = {**self.rows, **{identity: len(self) + number for number, identity in enumerate(missing)}}
        counts = np.append(self.counts, np.zeros(len(missing), np.int64))
        return QueryLog([*self.texts, *missing.values()], counts, rows, self.added + len(missing))

    def sample(self, size: int, rng: np.random.Generator) -> "QueryLog":
        """Return a random subset, in the order of the log; the whole log where it is not larger."""
        if size >= len(self):
            return self
        chosen = np.sort(rng.choice(len(self), size, replace=False))
        texts = [self.texts[row] for row in chosen]
        added = int((chosen >= len(self) - self.added).sum())
        return QueryLog(texts, self.counts[chosen], {key(text): row for row, text in enumerate(texts)}, added)


def _ones() -> Iterator[int]:
    while True:
        yield 1


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
