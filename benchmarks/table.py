"""What a benchmark prints: measured values, each beside its target."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A value that must be at least, or at most, something."""

    limit: float
    at_most: bool = False

    def met(self, value: float) -> bool:
        """Tell whether a value is on the right side."""
        return value <= self.limit if self.at_most else value >= self.limit

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {number(self.limit)}"


@dataclass(frozen=True)
class Line:
    """One measured value: what it is, further cells, the value, and its target where it has one."""

    what: str
    cells: tuple[str, ...]
    value: float
    target: Target | None = None

    @property
    def verdict(self) -> str:
        """Return met or not met; nothing without a target."""
        if self.target is None:
            return ""
        return "met" if self.target.met(self.value) else "NOT MET"


def number(value: float) -> str:
    """Write a number with as many digits as a measurement deserves.

    >>> number(1234.6), number(12.34), number(0.1234)
    ('1,235', '12.3', '0.123')
    """
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def show(columns: Sequence[str], lines: Sequence[Line]) -> None:
    """Print lines under column names; value, target and verdict are the last three columns."""
    for line in table(columns, lines):
        print(line, flush=True)


def table(columns: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """Return what `show` prints, line by line."""
    rows = [[line.what, *line.cells, number(line.value), str(line.target or ""), line.verdict] for line in lines]
    header = [*columns, "target", ""]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    printed = []
    for row in [header, *rows]:
        # Names to the left, everything measured to the right.
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        printed.append("  ".join(cells).rstrip())
    return printed


def summary(lines: Sequence[Line]) -> str:
    """Say how many targets were met, and name the others."""
    judged = [line for line in lines if line.target]
    missed = [line.what for line in judged if line.verdict != "met"]
    told = f"{len(judged) - len(missed)} of {len(judged)} targets met"
    return f"{told}; not met: {'; '.join(missed)}" if missed else told
