"""Every table of quipukit: its columns, their types, its key, and the check that it is what it should be."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from quipukit.errors import FrameError

Kind = Literal["text", "whole", "number"]


@dataclass(frozen=True)
class Table:
    """A kind of table: which columns it has, of which kind, and which of them tell its rows apart."""

    name: str
    columns: Mapping[str, Kind]
    key: tuple[str, ...]

    def check(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with its columns in order and of the right types (a copy), or say what is wrong."""
        for column in self.columns:
            if column not in frame.columns:
                found = ", ".join(repr(str(name)) for name in frame.columns) or "none"
                raise FrameError(f"{self.name} needs column {column!r} (found {found}); rename or add it.")
        checked = frame[list(self.columns)].copy()
        for column, kind in self.columns.items():
            checked[column] = _convert(self.name, checked[column], kind)
        twice = checked.duplicated(list(self.key))
        if twice.any():
            # Only identifiers are shown: a key never contains the text of a query.
            first = ", ".join(f"{name}={checked.loc[twice, name].iloc[0]}" for name in self.key)
            raise FrameError(f"{self.name} has two rows with {first}; keep one of them.")
        return checked.reset_index(drop=True)

    def empty(self) -> pd.DataFrame:
        """Return a table without rows."""
        return self.check(pd.DataFrame({column: [] for column in self.columns}))


SETTING = ("mechanism", "parameter", "value")
_SETTING: dict[str, Kind] = {"mechanism": "text", "parameter": "text", "value": "number"}

QUERIES = Table("Queries", {"qid": "text", "query": "text"}, ("qid",))
OBFUSCATED = Table(
    "Obfuscated", {"qid": "text", "variant": "whole", "query": "text", **_SETTING}, (*SETTING, "qid", "variant")
)
QRELS = Table("Qrels", {"qid": "text", "docno": "text", "relevance": "whole"}, ("qid", "docno"))
NOTES = Table("Notes", {**_SETTING, "qid": "text", "flag": "text", "count": "whole"}, (*SETTING, "qid", "flag"))


def queries_frame(queries: "pd.DataFrame | Mapping[str, str] | Iterable[str]") -> pd.DataFrame:
    """Return a Queries table from a frame, a mapping of ids to texts, or texts (numbered from 1).

    >>> queries_frame(["how tumour grows"]).to_dict("records")
    [{'qid': '1', 'query': 'how tumour grows'}]
    """
    if isinstance(queries, pd.DataFrame):
        return QUERIES.check(queries)
    if isinstance(queries, str):
        queries = [queries]
    pairs = queries.items() if isinstance(queries, Mapping) else ((str(i), q) for i, q in enumerate(queries, 1))
    return QUERIES.check(pd.DataFrame(list(pairs), columns=["qid", "query"]))


def _convert(table: str, column: "pd.Series[object]", kind: Kind) -> "pd.Series[object]":
    if kind == "text":
        if column.isna().any():
            raise FrameError(f"{table}: column {column.name!r} has empty cells; fill them or drop the rows.")
        return column.astype(str).astype(object)
    numbers = pd.to_numeric(column, errors="coerce")
    bad = numbers.isna()
    if bad.any():
        raise FrameError(
            f"{table}: column {column.name!r} must hold numbers (row {int(bad.to_numpy().argmax())} does not)."
        )
    if kind == "whole":
        if (numbers != numbers.round()).any():
            raise FrameError(f"{table}: column {column.name!r} must hold whole numbers.")
        return numbers.astype("int64")
    return numbers.astype("float64")
