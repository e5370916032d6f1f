"""ReportTable: a table as people read it, before it becomes HTML, LaTeX or terminal output."""

import re
from dataclasses import dataclass, field

import pandas as pd

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A text, bold or not, followed by marks, with small lines below it."""

    text: str
    bold: bool = False
    marks: str = ""
    small: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """Return the cell as one line."""
        return " ".join([f"{self.text}{self.marks}", *self.small])


@dataclass(frozen=True)
class RowGroup:
    """Rows under one heading, which may be empty."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class ReportTable:
    """A table: the first ``stubs`` columns hold names, the others numbers unless ``text_columns`` lists them.

    ``column_groups`` are headings that span several columns each (heading, how many). ``frame`` holds the same content
    as plain numbers, for CSV. ``name`` becomes the name of its files.
    """

    name: str
    title: str
    headings: tuple[str, ...]
    row_groups: tuple[RowGroup, ...]
    frame: pd.DataFrame = field(compare=False)
    caption: str = ""
    column_groups: tuple[tuple[str, int], ...] = ()
    stubs: int = 1
    text_columns: tuple[int, ...] = ()  # numbers of columns, from 0

    @property
    def marked(self) -> bool:
        """Whether any cell has marks."""
        return any(cell.marks for group in self.row_groups for row in group.rows for cell in row)

    @property
    def empty(self) -> bool:
        """Whether there is no row to show."""
        return not any(group.rows for group in self.row_groups)


def number(value: "float | None", digits: int = 3) -> str:
    """Format a number with a fixed number of decimals; a missing one is a dash, and -0 is never shown."""
    if value is None or value != value:
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: "float | None") -> str:
    """Format a share as a whole percentage.

    >>> percent(0.8249), percent(1.031)
    ('82 %', '103 %')
    """
    return DASH if value is None or value != value else f"{100 * value:.0f} %"


def share(value: "float | None") -> str:
    """Format a share as a percentage; a share above 0 is never shown as 0.

    >>> share(0.123), share(0.0004), share(0.0), share(1.0)
    ('12.3 %', '0.04 %', '0 %', '100 %')
    """
    if value is None or value != value:
        return DASH
    percent = 100 * value
    if percent in (0.0, 100.0):
        return f"{percent:.0f} %"
    digits = 1 if percent >= 0.1 else 2
    return "< 0.01 %" if percent < 0.005 else f"{percent:.{digits}f} %"


def typeset(text: str) -> str:
    """Return the text with typographic minus signs before negative numbers, and no line break before a percent sign."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text).replace(" %", "\N{NO-BREAK SPACE}%")


def interval(low: float, high: float, digits: int = 3) -> str:
    """Format an interval; a missing one is a dash.

    >>> interval(-0.001, 0.456)
    '[-0.001, 0.456]'
    """
    return DASH if low != low else f"[{number(low, digits)}, {number(high, digits)}]"
