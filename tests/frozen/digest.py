"""Turn tables into digests, one per column, that are equal on every machine."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tests.frozen.legacy_text import legacy_text

Digest = dict[str, Any]  # {"rows": N, "columns": {name: digest}}

# Decimals beyond which a number near zero is what sums and solvers leave of it.
_DECIMALS = 11
# A number such as 2^-13 = 1.220703125e-4 lies half-way between two numbers of nine digits, and the last bit of a sum
# would decide which of them is hashed. A little to the side of where short numbers lie, nothing does.
_ASIDE = 1 + 2.7e-10


def table_digest(frame: pd.DataFrame) -> Digest:
    """Return the number of rows and a digest of every column."""
    return {"rows": len(frame), "columns": {str(name): _column(frame[name]) for name in frame.columns}}


def digests_of(tables: Mapping[str, pd.DataFrame]) -> dict[str, Digest]:
    """Return the digests of some tables."""
    return {name: table_digest(frame) for name, frame in tables.items()}


def differences(expected: Mapping[str, Digest], found: Mapping[str, Digest]) -> list[str]:
    """Return what differs, as table.column; tables and columns that were added since do not count."""
    told = []
    for table, before in expected.items():
        if table not in found:
            told.append(f"{table}: is missing")
            continue
        now = found[table]
        if now["rows"] != before["rows"]:
            told.append(f"{table}: {now['rows']} rows instead of {before['rows']}")
        for column, digest in before["columns"].items():
            if column not in now["columns"]:
                told.append(f"{table}.{column}: is missing")
            elif now["columns"][column] != digest:
                told.append(f"{table}.{column}: {now['columns'][column]} instead of {digest}")
    return told


def _column(cells: Iterable[Any]) -> str:
    total = hashlib.sha256()
    for cell in cells:
        text = _written(cell).encode()
        total.update(b"%d:%s" % (len(text), text))
    return total.hexdigest()[:16]


def _written(cell: Any) -> str:
    """Return a cell as text: texts and whole numbers as they are, other numbers to nine significant digits."""
    if isinstance(cell, str):
        return f"t{legacy_text(cell)}"
    if isinstance(cell, bytes):
        return f"x{cell.hex()}"
    if isinstance(cell, bool | np.bool_):
        return f"b{int(cell)}"
    if isinstance(cell, int | np.integer):
        return f"i{int(cell)}"
    if cell is None or cell is pd.NA:
        return "none"
    if isinstance(cell, float | np.floating):
        number = float(cell)
        if not math.isfinite(number):
            return str(number)
        return f"f{round(number * _ASIDE, _DECIMALS) + 0.0:.9g}"
    raise TypeError(f"there is no digest of {type(cell).__name__}; put texts and numbers into the table.")
