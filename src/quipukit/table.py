"""What a table is: its columns, their types, its key, and the check that a frame is such a table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from quipukit.errors import FrameError

Kind = Literal["text", "whole", "number"]
_DTYPES: Mapping[Kind, Any] = {"text": np.dtype(object), "number": np.dtype(np.float64), "whole": np.dtype(np.int64)}

# Rows of a table whose keys are told apart faster one by one than by pandas.
_FEW = 2_000


@dataclass(frozen=True)
class Table:
    """A kind of table: which columns it has, of which kind, and which of them tell its rows apart.

    ``optional`` columns are kept where they are present. They may have gaps, for tables with and without them can be
    put together: a missing text is "unknown", a missing number 0.
    """

    name: str
    columns: Mapping[str, Kind]
    key: tuple[str, ...]
    optional: Mapping[str, Kind] = field(default_factory=dict)

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with its columns in order and of the right types (a copy), or say what is wrong."""
        checked, cells = self._typed(frame)
        if len(checked) <= _FEW:
            keys = zip(*(cells[name].tolist() for name in self.key), strict=True)
            if len(set(keys)) == len(checked):
                return checked
        twice = checked.duplicated(list(self.key))
        if twice.any():
            # Only identifiers are shown: a key never contains the text of a query.
            first = ", ".join(f"{name}={checked.loc[twice, name].iloc[0]}" for name in self.key)
            raise FrameError(f"{self.name} has two rows with {first}; keep one of them.")
        return checked

    def typed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the same as `check`, but let rows have the same key."""
        return self._typed(frame)[0]

    def _typed(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, "pd.Series[Any]"]]:
        """Return the typed frame and its columns by name: to take one out of a frame costs more than to check it."""
        given: object = frame
        if not isinstance(given, pd.DataFrame):
            wanted = ", ".join(self.columns)
            raise FrameError(f"{self.name} must be a DataFrame with {wanted} (found {type(given).__name__}).")
        names = frame.columns.tolist()
        columns = {**self.columns, **{name: kind for name, kind in self.optional.items() if name in names}}
        times = Counter(names)
        for column in columns:
            if not times[column]:
                raise FrameError(f"{self.name} needs column {column!r} ({self._found(frame)}); rename or add it.")
            if times[column] > 1:
                raise FrameError(f"{self.name} has column {column!r} twice; keep one of them.")
        cells = {name: column for name, column in frame.items() if name in columns}
        if type(frame) is pd.DataFrame and self._are_clean(cells, columns):
            chosen = frame if names == list(columns) else frame[list(columns)]
            # Most were checked before: a copy costs a fifth of putting them together again.
            chosen = chosen.copy() if _is_counted(chosen.index) else chosen.reset_index(drop=True)
            chosen.attrs = {}
            if (chosen.columns.name, chosen.columns.dtype) != (None, "str"):
                chosen.columns = pd.Index(list(columns))
            return chosen, cells
        rows = pd.RangeIndex(len(frame))
        checked = {}
        for column, kind in columns.items():
            filled = _without_gaps(cells[column], kind) if column in self.optional else cells[column]
            checked[column] = _converted(self.name, filled, kind, rows)
        # Put together once: one column set after another costs more than all the checks.
        return pd.DataFrame(checked, index=rows, copy=False), checked

    def _are_clean(self, cells: "Mapping[str, pd.Series[Any]]", columns: Mapping[str, Kind]) -> bool:
        """Return whether columns are what `typed` returns."""
        return all(
            cells[name].dtype == _DTYPES[kind] and _is_clean(cells[name], "" if name in self.optional else None)
            for name, kind in columns.items()
        )

    def _found(self, frame: pd.DataFrame) -> str:
        """Name the columns that are there, unless none is known: a file without a header has a query for a name."""
        if not set(self.columns) & set(frame.columns):
            return "found none of its columns"
        return "found " + ", ".join(repr(str(name)) for name in frame.columns)

    def empty(self) -> pd.DataFrame:
        """Return a table without rows."""
        return self.check(pd.DataFrame({column: [] for column in self.columns}))


class WithGaps(Table):
    """A table whose numbers may be missing."""

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame as it should be; a missing number stays NaN."""
        numbers = (name for name, kind in self.columns.items() if kind == "number" and name in frame)
        gaps = {name: gap for name in numbers if (gap := frame[name].isna().to_numpy()).any()}
        if not gaps:
            return super().check(frame)
        checked = super().check(frame.assign(**{name: frame[name].fillna(0.0) for name in gaps}))
        return checked.assign(**{name: checked[name].mask(gap) for name, gap in gaps.items()})


def _without_gaps(column: "pd.Series[object]", kind: Kind) -> "pd.Series[object]":
    """Fill missing cells; in files of text they are empty texts."""
    gaps = column.isna() | (column == "")
    return column.astype(object).mask(gaps, "unknown" if kind == "text" else 0) if gaps.any() else column


def _is_counted(index: pd.Index) -> bool:
    """Return whether rows are numbered from 0, and the index has no name."""
    return type(index) is pd.RangeIndex and (index.start, index.step, index.name) == (0, 1, None)


def _is_clean(column: "pd.Series[Any]", gap: str | None) -> bool:
    """Return whether a column holds nothing but sound texts (and no ``gap``), or numbers."""
    if column.dtype != object:
        return not np.isnan(column.to_numpy()).any()
    cells = set(column.tolist())
    return set(map(type, cells)) <= {str} and gap not in cells and all(map(str.isascii, cells))


def _converted(table: str, column: "pd.Series[Any]", kind: Kind, rows: pd.Index) -> "pd.Series[Any]":
    if kind == "text":
        return _texts(table, column, rows)
    numbers = column.to_numpy()
    if numbers.dtype not in (np.int64, np.float64):
        numbers = pd.to_numeric(column, errors="coerce").to_numpy()
    bad = pd.isna(numbers)
    if bad.any():
        raise FrameError(f"{table}: column {column.name!r} must hold numbers (row {int(bad.argmax())} does not).")
    if kind == "number":
        return pd.Series(numbers, rows, np.float64, copy=True)
    if numbers.dtype != np.int64 and (not np.isfinite(numbers).all() or (numbers != numbers.round()).any()):
        raise FrameError(f"{table}: column {column.name!r} must hold whole numbers.")
    return pd.Series(numbers, rows, np.int64, copy=True)


def _texts(table: str, column: "pd.Series[Any]", rows: pd.Index) -> "pd.Series[Any]":
    if isinstance(column.dtype, pd.CategoricalDtype) and all(isinstance(c, str) for c in column.cat.categories):
        _refuse_gaps(table, column)
        return column.set_axis(rows)  # millions of rows of a run: one copy of each text, and numbers that point to it
    cells = column.tolist()
    if not set(map(type, cells)) <= {str}:
        _refuse_gaps(table, column)
        cells = _written_out(table, column, cells)
    # Tables of many rows repeat few texts: each is looked at once.
    if any(not text.isascii() and _is_broken(text) for text in set(cells)):
        row = next(row for row, text in enumerate(cells) if _is_broken(text))
        raise FrameError(f"{table}: column {column.name!r}, row {row}, holds bytes that are not UTF-8; convert them.")
    return pd.Series(cells, rows, object)


def _refuse_gaps(table: str, column: "pd.Series[Any]") -> None:
    if column.isna().any():
        raise FrameError(f"{table}: column {column.name!r} has empty cells; fill them or drop the rows.")


def _written_out(table: str, column: "pd.Series[object]", cells: list[object]) -> list[str]:
    for row, cell in enumerate(cells):
        if isinstance(cell, bytes | bytearray | memoryview):  # str() of it is its Python spelling, b'...'
            raise FrameError(f"{table}: column {column.name!r}, row {row}, holds bytes; decode them to a text.")
    return [cell if isinstance(cell, str) else str(cell) for cell in cells]


def _is_broken(text: str) -> bool:
    """Return whether a text holds lone surrogates: what Python makes of bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
