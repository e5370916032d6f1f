"""Rows of a table that are too many to be held: read when they are asked for, whole or a part at a time."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from quipukit.errors import FileError
from quipukit.io.parts import PartReader
from quipukit.storage import sha256
from quipukit.table import Table

# Rows of obfuscated queries that are held: some hundred megabytes. Results with more read them from their folder.
HELD_ROWS = 500_000


def too_many(rows: int) -> bool:
    """Return whether so many rows are not held."""
    return rows > HELD_ROWS


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a kind of table, which ``read`` gives a part at a time, as often as they are asked for."""

    read: Callable[[], Iterable[pd.DataFrame]]
    table: Table

    def parts(self) -> Iterator[pd.DataFrame]:
        """Iterate over the rows, some at a time, typed as the table says."""
        for part in self.read():
            yield self.table.typed(part)

    def frame(self) -> pd.DataFrame:
        """Return all rows."""
        parts = list(self.parts())
        return self.table.check(pd.concat(parts, ignore_index=True)) if parts else self.table.empty()

    def through(self, change: Callable[[pd.DataFrame], pd.DataFrame], table: Table | None = None) -> "Rows":
        """Return what a change makes of each part; it may be another kind of table."""
        return replace(self, read=lambda: map(change, self.parts()), table=table or self.table)


def parts_of(rows: "pd.DataFrame | Rows", size: int) -> Iterator[pd.DataFrame]:
    """Iterate over some rows after the other, of a frame or of what is not held; at least once."""
    if isinstance(rows, Rows):
        begun = False
        for part in rows.parts():
            begun = True
            yield part
        if not begun:
            yield rows.table.empty()
    else:
        for start in range(0, max(1, len(rows)), size):
            yield rows.iloc[start : start + size]


def stored_rows(path: Path, table: Table, checksum: str) -> Rows:
    """Return the rows of a file that stays as it is; one that was changed is refused when it is read."""

    def read() -> Iterator[pd.DataFrame]:
        if not path.is_file() or sha256(path) != checksum:
            raise FileError(f"{path} was changed or removed since the result was loaded; load it again.")
        with PartReader(path.open("rb")) as reader:
            yield from reader.frames()

    return Rows(read, table)


class HeldOrRead:
    """An attribute that is a frame to all who ask for it, and may be given as `Rows`, which are then read."""

    def __init__(self, name: str) -> None:
        """Stand for an attribute by its name."""
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            raise AttributeError(self._name)
        held = vars(owner)[self._name]
        if isinstance(held, Rows):
            held = vars(owner)[self._name] = held.frame()
        return held

    def __set__(self, owner: Any, given: "pd.DataFrame | Rows") -> None:
        vars(owner)[self._name] = given
