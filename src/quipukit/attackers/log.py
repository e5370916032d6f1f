"""The query log that an attacker ranks: distinct queries, with how often each was asked."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import FileError, InputError
from quipukit.files import read_text
from quipukit.text import key

_QUERY_COLUMNS = ("query", "text")
_COUNT_COLUMNS = ("count", "frequency")


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
            identity = key(text)
            if not identity:
                continue
            row = rows.setdefault(identity, len(kept))
            if row == len(kept):
                kept.append(text)
                total.append(0)
            total[row] += count
        if not kept:
            raise InputError("the query log holds no query; give a file with one query a line.")
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
    """Read a query log: a text file (one query a line), TSV, CSV or Parquet with a column ``query``, or ``irds:ID``.

    ``wordnet`` is the log of the built-in collection. A TSV or CSV file without a header holds queries, or ids and
    queries. Files may be compressed with gzip. A column ``count`` adds up; without one every row counts 1.
    """
    if not isinstance(source, str | os.PathLike):
        return QueryLog.of(source)
    name = os.fspath(source)
    if name.startswith("irds:"):
        from quipukit.collections.irds import log_queries

        return QueryLog.of(log_queries(name.removeprefix("irds:")))
    if name == "wordnet":
        from quipukit.collections.wordnet_glosses import WordNetGlosses

        return QueryLog.of(WordNetGlosses().query_log())
    path = Path(name)
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix == ".parquet":
        return _read_parquet(path)
    lines = io.StringIO(read_text(path))
    if suffix == ".csv":
        return _read_columns(path, csv.reader(lines))
    if suffix == ".tsv":
        return _read_columns(path, (line.rstrip("\r\n").split("\t") for line in lines))
    return QueryLog.of(line.rstrip("\r\n") for line in lines)


def _read_columns(path: Path, rows: Iterator[list[str]]) -> QueryLog:
    first = next(rows, [])
    header = [name.strip().lower() for name in first]
    column = next((header.index(name) for name in _QUERY_COLUMNS if name in header), None)
    if column is None:
        if len(first) not in (1, 2):
            raise FileError(f"{path}: cannot tell which column holds the queries; name it 'query' in the first line.")
        # Without a header: one query a line, or an id and a query, as topics are written.
        return QueryLog.of(row[-1] for row in [first, *rows] if row)
    count = next((header.index(name) for name in _COUNT_COLUMNS if name in header), None)
    texts, counts = [], []
    for number, row in enumerate(rows, 2):
        if not row or row == [""]:
            continue
        if len(row) <= max(column, count or 0):
            raise FileError(f"{path}, line {number}: a column is missing; every line needs {len(header)}.")
        texts.append(row[column])
        counts.append(_whole(path, number, row[count]) if count is not None else 1)
    return QueryLog.of(texts, counts)


def _whole(path: Path, number: int, text: str) -> int:
    if not text.strip().isdigit():
        raise FileError(f"{path}, line {number}: the count {text!r} is not a whole number; mend or delete the line.")
    return int(text)


def _read_parquet(path: Path) -> QueryLog:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError) as fault:
        raise FileError(f"{path} is not a readable Parquet file ({str(fault).splitlines()[0]}).") from None
    column = next((name for name in _QUERY_COLUMNS if name in frame.columns), None)
    if column is None:
        raise FileError(f"{path}: column 'query' is missing (found {', '.join(map(str, frame.columns))}).")
    count = next((name for name in _COUNT_COLUMNS if name in frame.columns), None)
    return QueryLog.of(frame[column].astype(str), frame[count].astype(int) if count else None)
