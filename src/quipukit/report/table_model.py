"""Sheet: a table for people, before it becomes HTML, LaTeX or lines of a terminal."""

import re
from dataclasses import dataclass, field

import pandas as pd

DASH = "\N{EN DASH}"


@dataclass(frozen=True)
class Cell:
    """A text, perhaps bold, with marks behind it and small lines below."""

    text: str
    bold: bool = False
    marks: str = ""
    small: tuple[str, ...] = ()

    @property
    def plain(self) -> str:
        """Return the cell as one line."""
        return " ".join([f"{self.text}{self.marks}", *self.small])


@dataclass(frozen=True)
class Section:
    """Rows under a common heading; the heading may be empty."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Sheet:
    """A table: ``stubs`` columns of names, then numbers; ``groups`` are headings over several columns each.

    ``frame`` holds the same as plain numbers, for CSV.
    """

    name: str
    title: str
    headings: tuple[str, ...]
    sections: tuple[Section, ...]
    frame: pd.DataFrame = field(compare=False)
    caption: str = ""
    groups: tuple[tuple[str, int], ...] = ()
    stubs: int = 1
    texts: tuple[int, ...] = ()  # columns after the stubs that hold words

    @property
    def marked(self) -> bool:
        """Tell whether a cell has marks."""
        return any(cell.marks for section in self.sections for row in section.rows for cell in row)

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing to show."""
        return not any(section.rows for section in self.sections)


def number(value: "float | None", digits: int = 3) -> str:
    """Write a number with so many digits, a dash where it is missing, and never -0."""
    if value is None or value != value:
        return DASH
    return f"{round(value, digits) + 0.0:.{digits}f}"


def percent(value: "float | None") -> str:
    """Write a share in whole per cent, as people compare them.

    >>> percent(0.8249), percent(1.031)
    ('82 %', '103 %')
    """
    return DASH if value is None or value != value else f"{100 * value:.0f} %"


def share(value: "float | None") -> str:
    """Write a share in per cent; what is not 0 does not look like 0.

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
    """Return the text as print wants it: minus signs before negative numbers, and no line break before a per cent."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text).replace(" %", "\N{NO-BREAK SPACE}%")


def interval(low: float, high: float, digits: int = 3) -> str:
    """Write an interval, a dash where it is not available.

    >>> interval(-0.001, 0.456)
    '[-0.001, 0.456]'
    """
    return DASH if low != low else f"[{number(low, digits)}, {number(high, digits)}]"
