"""What the tables share: rows grouped by strategy, column groups per view, frames with the view's name, sentences."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from quipukit.report.run_description import cautions
from quipukit.report.table_model import DASH, Cell, RowGroup, number
from quipukit.report.views import View
from quipukit.report.wording import join
from quipukit.specs import format_value

MISSING = Cell(DASH)

# (strategy, what identifies the row within it) -> the cells of the row
Rows = dict[tuple[str, str], tuple[Cell, ...]]


def grouped(rows: Rows) -> tuple[RowGroup, ...]:
    """Return the rows in groups, one per strategy."""
    strategies = dict.fromkeys(strategy for strategy, _ in rows)
    return tuple(
        RowGroup(strategy, tuple(row for (own, _), row in rows.items() if own == strategy)) for strategy in strategies
    )


def by_mechanism(
    views: Sequence[View], cells: Callable[[View, str], list[Cell]], references: bool = False
) -> tuple[RowGroup, ...]:
    """Return one row per mechanism that any view has; ``cells`` returns dashes for a view that lacks it."""
    rows: Rows = {}
    for view in views:
        for name in view.references if references else view.mechanisms:
            rows.setdefault(
                ("" if references else view.result.strategies[name], name),
                (Cell(name), *(cell for other in views for cell in cells(other, name))),
            )
    return grouped(rows)


def column_groups(views: Sequence[View], width: Callable[[View], int]) -> tuple[tuple[str, int], ...]:
    """Return the headings over the columns of each view."""
    return tuple((view.name, width(view)) for view in views)


def named_frame(view: View, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the view's collection and system as its first columns, and without labels for people."""
    named: dict[str, Any] = {"collection": view.name, "system": view.system or ""}
    columns = [*named, *(column for column in frame.columns if column not in (*named, "label"))]
    return frame.assign(**named)[columns]


def setting_text(parameter: str, value: float) -> str:
    """Return a parameter and its value, a dash for a mechanism without a parameter.

    >>> setting_text("epsilon", 12.5)
    'epsilon 12.5'
    """
    return f"{parameter} {format_value(value)}" if parameter else DASH


def range_text(low: float, high: float) -> str:
    """Return a range of numbers, one number where both ends look the same.

    >>> range_text(0.1, 0.25), range_text(0.1, 0.1001)
    ('0.100 to 0.250', '0.100')
    """
    return number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"


def over_queries(view: View) -> str:
    """Return a sentence on how many queries the means cover: utility the judged ones, risk all that were sent."""
    asked, judged = view.queries
    if asked == judged:
        return f"{view.name}: {asked} queries."
    return f"{view.name}: risk over all {asked} queries sent, utility over the {judged} with relevant documents."


def sweep_text(view: View) -> str:
    """Return a sentence on which N of a sweep a table shows; empty where there was no sweep.

    The number of variants per query changes risk and utility, so a number without its N would mislead.
    """
    if view.sweep is None:
        return ""
    ns = [str(n) for n in view.sweep.ns]
    return f"{view.run}: N = {ns[-1]}, the largest of the sweep over N = {join(ns)}."


def caution_text(view: View) -> str:
    """Return the cautions of a view's result as sentences; empty where there are none."""
    return " ".join(f"{view.run}: {line}" for line in cautions(view.result))
