"""Tables as files: TSV, CSV, JSON lines and Parquet, read strictly and written complete or not at all."""

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import FileError, FrameError
from quipukit.io.reading import Row, file_kind, read_bytes, read_objects, read_rows, with_width
from quipukit.storage import atomic_write
from quipukit.table import Kind, Table
from quipukit.terminal import visible

FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
ID_COLUMNS = {"qid", "id", "query_id"}
_UNFIT = {".tsv": re.compile(r"[\t\r\n\0]"), ".csv": re.compile(r"\0")}
# After white space or characters without width, too. The last four are the wide forms that some spreadsheets take for
# the first four.
_FORMULA = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[-=+@\uff1d\uff0b\uff0d\uff20]")
_RETURN = re.compile(r"\r")

Pathish = str | os.PathLike[str]


def write_table(table: pd.DataFrame, path: Pathish) -> None:
    """Write any table by the ending of the path, complete or not at all."""
    path = Path(path)
    table = table.copy(deep=False)
    table.attrs = {}  # a caller's own: pandas would write them into the metadata of Parquet files, unseen
    if path.suffix not in FORMATS:
        raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    try:
        with atomic_write(path) as draft:
            if path.suffix == ".parquet":
                table.to_parquet(draft, index=False)
            else:
                draft.write_text(as_text(table, path.suffix), encoding="utf-8", newline="")
    except OSError as fault:
        raise FileError(f"{path} cannot be written ({fault.strerror}); name another place.") from None


def as_text(table: pd.DataFrame, suffix: str) -> str:
    """Return a table as CSV, TSV or JSON lines, or say what such a file cannot hold: TSV knows no quoting."""
    if suffix == ".jsonl":
        return str(table.to_json(orient="records", lines=True, force_ascii=False, double_precision=15))
    if place := _place(table, _UNFIT[suffix]):
        what = "a tab, a line end or a NUL" if suffix == ".tsv" else "a NUL"
        other = ".csv or .parquet" if suffix == ".tsv" else ".jsonl or .parquet"
        raise FileError(f"{place} holds {what}, which {suffix[1:].upper()} cannot; write {other}.")
    if suffix == ".tsv":
        return str(table.to_csv(index=False, sep="\t", lineterminator="\n", quoting=csv.QUOTE_NONE))
    # The csv module of Python 3.11 leaves a carriage return unquoted, which then reads as the end of a row.
    quoting = csv.QUOTE_NONNUMERIC if _place(table, _RETURN) else csv.QUOTE_MINIMAL
    return str(table.to_csv(index=False, lineterminator="\n", quoting=quoting))


def spreadsheet_text(table: pd.DataFrame) -> str:
    """Return a table as CSV for spreadsheets: a text that one would take for a formula begins with an apostrophe.

    Control characters are written out, as on a terminal. For tables that people open; a file that is read back is
    written as it is (`as_text`). Numbers stay numbers.
    """
    named = table.rename(columns=_harmless)
    for place, dtype in enumerate(named.dtypes):
        if dtype.kind not in "biuf":
            named.isetitem(place, named.iloc[:, place].map(_harmless))
    return as_text(named, ".csv")


def _harmless(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    cell = visible(cell)
    if not _FORMULA.match(cell):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _place(table: pd.DataFrame, pattern: re.Pattern[str]) -> str:
    """Return where a text matches first, or nothing."""
    for name, column in table.items():
        if column.dtype.kind not in "biuf":
            for row, cell in enumerate(column, 1):
                if isinstance(cell, str) and pattern.search(cell):
                    return f"column {name!r}, row {row},"
    return ""


# --- reading ------------------------------------------------------------------------------------------------------


def read_table(path: Path) -> pd.DataFrame:
    """Read a table with a header: CSV, TSV, JSON lines or Parquet. Cells of a text file stay texts.

    Every row has as many fields as the header; an empty cell is an empty text, because an empty obfuscation is a value.
    The index of a text file's table holds the numbers of its lines.
    """
    kind = file_kind(path)
    if kind == ".parquet":
        return read_parquet(path)
    if kind == ".jsonl":
        return _read_jsonl(path)
    if kind not in FORMATS:
        raise FileError(f"{path}: cannot tell the format; end the name in {', '.join(FORMATS)}.")
    rows = read_rows(path)
    return table_of(path, next(rows)[1], rows)


def column_names(path: Path, header: Sequence[str]) -> list[str]:
    """Return the names that a first line gives the columns."""
    names = [name.strip() for name in header]
    named = [name for name in names if name]
    if len(set(named)) < len(named):
        # Not which: the first line of a file without a header may be a query.
        raise FileError(f"{path}: the first line names a column twice; give every column its own name.")
    return names


def table_of(path: Path, header: Sequence[str], rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows under a header as a table of texts, with the numbers of the lines as its index."""
    names = column_names(path, header)
    cells = dict(with_width(path, rows, len(names), f"the {len(names)} columns of the first line"))
    return pd.DataFrame(list(cells.values()), index=list(cells), columns=names, dtype=object)


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file whole; one that cannot be is refused in one line, which quotes nothing that it holds."""
    content = read_bytes(path)
    try:
        return pd.read_parquet(io.BytesIO(content))
    except Exception:  # Arrow's and pandas' own, and KeyError or TypeError from the notes that pandas leaves in a file
        raise FileError(f"{path} is damaged, or not a Parquet file; write it again.") from None


def check_cells(path: Path, table: pd.DataFrame, kinds: Mapping[str, Kind]) -> None:
    """Refuse cells of the wrong type, with their row: a text is a text, and only an id may be a whole number instead.

    Anything else would be turned into a text of its own making: bytes become "b'cat'", and an id 7.0 matches no 7.
    """
    for column, kind in kinds.items():
        if list(table.columns).count(column) != 1:
            continue  # which the check of the table says
        types = (str, int) if column in ID_COLUMNS else (str,) if kind == "text" else (str, int, float)
        for number, cell in zip(_row_numbers(path, table), table[column].tolist(), strict=True):
            if not isinstance(cell, types) or isinstance(cell, bool):
                wanted = (
                    "a text or a whole number" if column in ID_COLUMNS else "a text" if kind == "text" else "a number"
                )
                raise FileError(f"{path}, {number}: column {column!r} is empty or not {wanted}; fix or delete the row.")


def check_finite(path: Path, table: pd.DataFrame, column: str) -> None:
    """Refuse cells of a column that are no finite number, with their row; missing ones are left to `check_cells`."""
    for number, cell in zip(_row_numbers(path, table), table[column].tolist(), strict=True):
        try:
            finite = not isinstance(cell, str | int | float) or math.isfinite(float(cell))
        except (ValueError, OverflowError):
            finite = False
        if not finite:
            raise FileError(f"{path}, {number}: column {column!r} is no finite number; fix or delete the row.")


def _row_numbers(path: Path, table: pd.DataFrame) -> list[str]:
    """Return where the rows of a table stand in its file: rows of Parquet, and lines of anything else."""
    if file_kind(path) == ".parquet":
        return [f"row {number}" for number in range(1, len(table) + 1)]
    return [f"line {number}" for number in table.index]


def checked_table(path: Path, kind: Table, table: pd.DataFrame) -> pd.DataFrame:
    """Return the validated table; errors name rows by number, because their content may be a query."""
    check_cells(path, table, kind.columns)
    typed = as_table(path, lambda: kind.typed(table))
    key = list(kind.key)
    twice = typed.duplicated(key)
    if twice.any():
        second = int(twice.to_numpy().argmax())
        first = int((typed[key] == typed.loc[second, key]).all(axis=1).to_numpy().argmax())
        numbers = _row_numbers(path, table)
        raise FileError(
            f"{path}: {numbers[first]} and {numbers[second]} have the same {', '.join(key)}; keep one of them."
        )
    return typed


def as_table(path: Path, check: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    try:
        return check()
    except FrameError as fault:
        raise FileError(f"{path}: {fault}") from None


def _read_jsonl(path: Path) -> pd.DataFrame:
    objects = {}
    for number, fields in read_objects(path):
        if any(isinstance(value, dict | list) for value in fields.values()):
            raise FileError(f"{path}, line {number}: a field holds a list or an object; give texts and numbers alone.")
        objects[number] = fields
    if not objects:
        raise FileError(f"{path} is empty; write one object per line.")
    return pd.DataFrame(list(objects.values()), index=list(objects), dtype=object)
