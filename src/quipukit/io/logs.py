"""Query logs in files: what was asked, and how often."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quipukit.errors import FileError
from quipukit.io.reading import Row, block_lines, byte_blocks, empty, file_kind, is_plain, read_rows, with_width
from quipukit.io.tables import column_names, read_table

if TYPE_CHECKING:
    import pandas as pd

_QUERY_COLUMNS = ("query", "text")
_COUNT_COLUMNS = ("count", "counts", "frequency", "freq")

Entries = tuple[Iterable[str], Iterable[int] | None]  # texts, and their counts where the file holds some


def read_log_file(path: Path) -> Entries:
    """Read a query log from a file: the texts of its queries, and how often each was asked, where it says so.

    A text file holds one query per line; TSV, CSV, JSON lines and Parquet hold columns. The queries stand in a column
    ``query`` or ``text``, the counts in ``count``, ``frequency`` or ``freq``. A TSV or CSV file without a header holds
    queries, or ids and queries; where the columns could as well be something else (queries and counts) it is refused.
    Files may be compressed with gzip. Texts come as they are written; a file of lines whose columns are named, or that
    has one, is read as they are taken.
    """
    kind = file_kind(path)
    if kind == ".json":
        raise FileError(f"{path}: cannot tell the format; write one JSON object per line, and end the name in .jsonl.")
    if kind in (".jsonl", ".parquet"):
        return _from_table(path, read_table(path))
    if kind not in (".csv", ".tsv"):
        return LineQueries(path), None
    rows = read_rows(path)
    first = next(rows)
    header = [name.strip().lower() for name in first[1]]
    if any(name in header for name in _QUERY_COLUMNS):
        return _with_header(path, column_names(path, header))
    return _without_header(path, [first, *rows]), None


class LineQueries(Iterable[str]):
    """The queries of a file with one per line: one after the other, or many as they lie there."""

    def __init__(self, path: Path) -> None:
        """Name the file, which is read whenever queries are asked for."""
        self._path = path

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks():
            lines = block.decode("ascii").split("\n") if isinstance(block, bytes) else block
            yield from filter(str.strip, lines)

    def blocks(self) -> "Iterator[bytes | list[str]]":
        """Iterate over many lines at a time: as bytes that end in LF where all is ASCII, empty ones among them."""
        path, any_line = self._path, False
        for first, block, end in byte_blocks(path):
            if end == "\n" and is_plain(block) and b"\t" not in block:
                any_line = any_line or bool(block.strip())
                yield block
                continue
            lines = block_lines(path, block, end, first)
            any_line = any_line or any(map(str.strip, lines))
            if any("\t" in line for line in lines):
                rows = ((number, line.split("\t")) for number, line in enumerate(lines, first) if line.strip())
                lines = [fields[0] for _, fields in with_width(path, rows, 1, "one query per line, without tabs")]
            yield lines
        if not any_line:
            raise empty(path)


def read_kinds(path: Path) -> list[str] | None:
    """Read which kind of user or source each query of a log comes from: the column ``source``; None without one."""
    if file_kind(path) not in (".csv", ".tsv", ".jsonl", ".parquet"):
        return None
    table = read_table(path)
    names = {name.strip().lower(): name for name in table.columns}
    if "source" not in names or not any(name in names for name in _QUERY_COLUMNS):
        return None
    return table[names["source"]].astype(str).tolist()


def _with_header(path: Path, names: Sequence[str]) -> Entries:
    """Return the columns of a TSV or CSV file, each by a pass of its own: no more than a row is in memory."""

    def column(name: str) -> Iterator[tuple[int, str]]:
        rows, place = read_rows(path), names.index(name)
        next(rows)
        for number, fields in with_width(path, rows, len(names), f"the {len(names)} columns of the first line"):
            yield number, fields[place]

    def counts(name: str) -> Iterator[int]:
        for number, cell in column(name):
            if (whole := _whole(cell)) is None:
                raise FileError(f"{path}, line {number}: the count is not a whole number; fix or delete the line.")
            yield whole

    query = next(name for name in _QUERY_COLUMNS if name in names)
    count = next((name for name in _COUNT_COLUMNS if name in names), None)
    return (text for _, text in column(query)), None if count is None else counts(count)


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
    """Return whether the first column can only be ids, and the second only queries.

    Ids differ, hold a digit and no space. Counts are numbers that repeat or fall; and a second column of nothing but
    numbers is more likely counts than queries.
    """
    if len(set(first)) < len(first) or all(map(_is_whole, second)):
        return False
    if not all(any(character.isdigit() for character in cell) and cell.split() == [cell] for cell in first):
        return False
    falling = (
        len(first) > 1 and all(map(_is_whole, first)) and all(int(a) > int(b) for a, b in itertools.pairwise(first))
    )
    return not falling


def _from_table(path: Path, table: "pd.DataFrame") -> Entries:
    column = next((name for name in _QUERY_COLUMNS if name in table.columns), None)
    if column is None:
        raise FileError(f"{path}: column 'query' is missing; rename the column that holds the queries to 'query'.")
    count = next((name for name in _COUNT_COLUMNS if name in table.columns), None)
    unit = "row" if file_kind(path) == ".parquet" else "line"
    numbers = range(1, len(table) + 1) if unit == "row" else table.index.tolist()
    texts = table[column].tolist()
    for number, text in zip(numbers, texts, strict=True):
        if not isinstance(text, str):
            raise FileError(f"{path}, {unit} {number}: the query is missing or not a string; fix or delete the {unit}.")
    if count is None:
        return texts, None
    counts = [_whole(cell) for cell in table[count].tolist()]
    for number, whole in zip(numbers, counts, strict=True):
        if whole is None:
            raise FileError(f"{path}, {unit} {number}: the count is not a whole number; fix or delete the {unit}.")
    return texts, [whole or 0 for whole in counts]


def _whole(cell: object) -> int | None:
    if isinstance(cell, str) and _is_whole(cell.strip()):
        return int(cell)
    # Where a count is missing, pandas makes all of them floats.
    if isinstance(cell, int | float) and not isinstance(cell, bool) and cell >= 0 and cell == cell // 1:
        return int(cell)
    return None


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()  # isdigit alone lets superscripts pass, which int() refuses
