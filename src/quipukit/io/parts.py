"""Tables that are written and read a part at a time, so that none of them has to fit into memory.

A Parquet file consists of groups of rows. Whatever the parts are in which a table comes, its groups have `GROUP_ROWS`
rows each and the last one the rest: equal tables are equal bytes, however they were divided.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 65_536
COMPRESSION = "zstd"


class PartWriter:
    """Writes a table of which the rows come in parts; a context manager, at whose end the file is complete."""

    def __init__(self, path: Path, group_rows: int = GROUP_ROWS) -> None:
        """Name the file; it is opened with the first part that has rows, whose types are those of all."""
        self._path, self._group_rows = path, group_rows
        self._file: pq.ParquetWriter | None = None
        self._waiting: list[pa.Table] = []  # fewer rows than a group
        self._empty: pa.Table | None = None  # without rows a column of texts has no type: written only if all are so

    def add(self, frame: pd.DataFrame) -> None:
        """Add some rows."""
        plain = frame.copy(deep=False)
        plain.attrs = {}  # a plugin's own: they would be written, and a table must depend on its columns alone
        if plain.empty:
            self._empty = pa.Table.from_pandas(plain, preserve_index=False) if self._empty is None else self._empty
            return
        schema = None if self._schema is None else self._schema.remove_metadata()
        self._waiting.append(pa.Table.from_pandas(plain, schema, preserve_index=False))
        if sum(map(len, self._waiting)) >= self._group_rows:
            self._write_groups()

    @property
    def _schema(self) -> pa.Schema | None:
        return self._file.schema if self._file is not None else self._waiting[0].schema if self._waiting else None

    def _write_groups(self, rest: bool = False) -> None:
        """Write the groups that are complete, and with ``rest`` what is left too."""
        table = pa.concat_tables([one.cast(self._schema) for one in self._waiting])
        whole = len(table) if rest else len(table) - len(table) % self._group_rows
        for start in range(0, whole, self._group_rows):
            self._write(table.slice(start, min(self._group_rows, whole - start)).combine_chunks())
        self._waiting = [table.slice(whole).combine_chunks()] if whole < len(table) else []

    def _write(self, table: pa.Table) -> None:
        if self._file is None:
            self._file = pq.ParquetWriter(self._path, table.schema, compression=COMPRESSION)
        self._file.write_table(table, self._group_rows)

    def close(self) -> None:
        """Write what is left, and complete the file."""
        if self._waiting:
            self._write_groups(rest=True)
        elif self._file is None and self._empty is not None:
            self._write(self._empty)
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        if fault is None:
            self.close()
        elif self._file is not None:
            with contextlib.suppress(OSError):  # the fault that is on its way says more
                self._file.close()


class PartReader:
    """Reads a table a group of rows at a time; a context manager, at whose end the file is closed."""

    def __init__(self, file: BinaryIO) -> None:
        """Read what the file says about itself."""
        self._open = file
        self._file = pq.ParquetFile(file)

    def __len__(self) -> int:
        return int(self._file.metadata.num_rows)

    def frames(self, columns: Sequence[str] | None = None) -> Iterator[pd.DataFrame]:
        """Iterate over the groups of rows: all columns, or some."""
        for number in range(self._file.num_row_groups):
            yield self._file.read_row_group(number, None if columns is None else list(columns)).to_pandas()

    def cursor(self, places: Mapping[str, int], columns: Sequence[str] | None = None) -> "Cursor":
        """Return what takes the rows by rising places of their queries, as far as one asks for them."""
        none = self._file.schema_arrow.empty_table().to_pandas()
        return Cursor(self.frames(columns), none if columns is None else none[list(columns)], places)

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        self.close()


class Cursor:
    """Takes rows from a table whose queries stand by rising places, no more at a time than are asked for.

    >>> frames = [pd.DataFrame({"qid": ["b", "a"]}), pd.DataFrame({"qid": ["a", "c"]})]
    >>> rows = Cursor(iter(frames), frames[0][:0], {"b": 0, "a": 1, "c": 2})
    >>> [rows.upto(stop)["qid"].tolist() for stop in (1, 2, 3)]
    [['b'], ['a', 'a'], ['c']]
    """

    def __init__(self, frames: Iterator[pd.DataFrame], none: pd.DataFrame, places: Mapping[str, int]) -> None:
        """Begin before the first row; ``none`` is the table without rows."""
        self._frames, self._none, self._places = frames, none, places
        self._rest, self._rest_places = none, np.empty(0, np.int64)

    def upto(self, stop: int) -> pd.DataFrame:
        """Return the rows of queries before the place ``stop`` that were not taken yet."""
        taken: list[pd.DataFrame] = []
        while True:
            end = int(np.searchsorted(self._rest_places, stop))
            if end:
                taken.append(self._rest.iloc[:end])
            self._rest, self._rest_places = self._rest.iloc[end:], self._rest_places[end:]
            if len(self._rest):
                break
            following = next(self._frames, None)
            if following is None:
                break
            self._rest, self._rest_places = following, places_of(following, self._places)
        if not taken:
            return self._none
        return taken[0].reset_index(drop=True) if len(taken) == 1 else pd.concat(taken, ignore_index=True)


def places_of(frame: pd.DataFrame, places: Mapping[str, int]) -> Any:
    """Return the place of every row's query."""
    codes, qids = pd.factorize(frame["qid"])
    return np.array([places[qid] for qid in qids], np.int64)[codes] if len(frame) else np.empty(0, np.int64)


def spans_of(rows: Sequence[float], most: float) -> list[slice]:
    """Divide queries, of which each has so many rows, into neighbors that have ``most`` rows together; or one query.

    >>> spans_of([3, 3, 9, 1, 0, 2], 6)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 6, None)]
    """
    spans, start, held = [], 0, 0.0
    for place, own in enumerate(rows):
        if held + own > most and place > start:
            spans.append(slice(start, place))
            start, held = place, 0.0
        held += own
    return [*spans, slice(start, len(rows))]
