"""The query log that an attacker ranks: distinct queries, with how often each was asked."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import FileError, InputError
from quipukit.io.reading import Row, file_kind, read_rows, with_width
from quipukit.io.tables import read_table, table_of
from quipukit.text import key

if TYPE_CHECKING:
    import pandas as pd

_QUERY_COLUMNS = ("query", "text")
_COUNT_COLUMNS = ("count", "counts", "frequency", "freq")


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
            row = rows.setdefault(identity, len(kept))
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

    ``wordnet`` is the log of the built-in collection. The queries stand in a column ``query`` or ``text``; a column
    ``count``, ``frequency`` or ``freq`` adds up, and without one every row counts 1. A TSV or CSV file without a header
    holds queries, or ids and queries; where the columns could as well be something else (queries and counts) it is
    refused. Files may be compressed with gzip.
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
    try:
        return _read_file(path)
    except FileError:
        raise
    except InputError as fault:
        raise FileError(f"{path}: {fault}") from None


def _read_file(path: Path) -> QueryLog:
    kind = file_kind(path)
    if kind == ".json":
        raise FileError(f"{path}: cannot tell the format; write one JSON object per line, and end the name in .jsonl.")
    if kind in (".jsonl", ".parquet"):
        return _from_table(path, read_table(path))
    rows = read_rows(path)
    if kind not in (".csv", ".tsv"):
        return QueryLog.of(fields[0] for _, fields in with_width(path, rows, 1, "one query per line, without tabs"))
    first = next(rows)
    header = [name.strip().lower() for name in first[1]]
    if any(name in header for name in _QUERY_COLUMNS):
        return _from_table(path, table_of(path, header, rows))
    return QueryLog.of(_without_header(path, [first, *rows]))


def _without_header(path: Path, rows: list[Row]) -> list[str]:
    """Return the queries of a file without a header: one per row, or an id and a query, as topics are written."""
    width = len(rows[0][1])
    fix = "name the columns in the first line, for instance 'query' and 'count'"
    if width > 2:
        raise FileError(f"{path}: cannot tell which column holds the queries; {fix}.")
    fields = [fields for _, fields in with_width(path, rows, width, f"{width} in every line")]
    if width == 2 and not _are_ids([row[0].strip() for row in fields], [row[1] for row in fields]):
        raise FileError(f"{path}: cannot tell whether its two columns are ids, queries or counts; {fix}.")
    return [row[-1] for row in fields]


def _are_ids(first: list[str], second: list[str]) -> bool:
    """Tell whether the first column can only be ids, and the second only queries.

    Ids differ, hold a digit and no space. Counts are numbers that repeat or fall; and a second column of nothing but
    numbers is more likely counts than queries.
    """
    if len(set(first)) < len(first) or all(map(_is_whole, second)):
        return False
    if not all(any(character.isdigit() for character in cell) and cell.split() == [cell] for cell in first):
        return False
    falling = len(first) > 1 and all(map(_is_whole, first)) and all(int(a) > int(b) for a, b in pairwise(first))
    return not falling


def _from_table(path: Path, table: "pd.DataFrame") -> QueryLog:
    column = next((name for name in _QUERY_COLUMNS if name in table.columns), None)
    if column is None:
        raise FileError(f"{path}: column 'query' is missing; name the column of the queries so.")
    count = next((name for name in _COUNT_COLUMNS if name in table.columns), None)
    unit = "row" if file_kind(path) == ".parquet" else "line"
    numbers = range(1, len(table) + 1) if unit == "row" else table.index.tolist()
    texts = table[column].tolist()
    for number, text in zip(numbers, texts, strict=True):
        if not isinstance(text, str):
            raise FileError(f"{path}, {unit} {number}: the query is missing or no text; fix or delete the {unit}.")
    if count is None:
        return QueryLog.of(texts)
    counts = [_whole(cell) for cell in table[count].tolist()]
    for number, whole in zip(numbers, counts, strict=True):
        if whole is None:
            raise FileError(f"{path}, {unit} {number}: the count is not a whole number; fix or delete the {unit}.")
    return QueryLog.of(texts, (whole or 0 for whole in counts))


def _whole(cell: object) -> int | None:
    if isinstance(cell, str) and _is_whole(cell.strip()):
        return int(cell)
    # Where a count is missing, pandas makes all of them floats.
    if isinstance(cell, int | float) and not isinstance(cell, bool) and cell >= 0 and cell == cell // 1:
        return int(cell)
    return None


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()  # isdigit alone lets superscripts pass, which int() refuses
