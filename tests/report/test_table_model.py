"""The table model and its numbers as people read them."""

import math

import pandas as pd
import pytest

from quipukit.report.table_model import DASH, Cell, ReportTable, RowGroup, interval, number, percent, share, typeset


def test_missing_and_negative_zero() -> None:
    assert [number(None), number(math.nan), number(-0.0001), number(2 / 3, 1)] == [DASH, DASH, "0.000", "0.7"]
    assert [percent(math.nan), share(None), interval(math.nan, 1.0)] == [DASH] * 3


@pytest.mark.parametrize(
    ("value", "text"), [(1e-6, "< 0.01 %"), (0.00006, "0.01 %"), (0.5, "50.0 %"), (0.0, "0 %"), (1.0, "100 %")]
)
def test_a_share_above_0_is_never_shown_as_0(value: float, text: str) -> None:
    assert share(value) == text


def test_typeset() -> None:
    assert typeset("[-0.1, 2] of AEA-3, 5 %") == "[\N{MINUS SIGN}0.1, 2] of AEA-3, 5\N{NO-BREAK SPACE}%"


def test_marked_and_empty() -> None:
    def table(*cells: Cell) -> ReportTable:
        return ReportTable("t", "T", ("a",), (RowGroup("", (cells,) if cells else ()),), pd.DataFrame())

    assert table().empty and not table(Cell("x")).empty
    assert table(Cell("x", marks="†")).marked and not table(Cell("x")).marked
    assert Cell("0.1", marks="†", small=("[0, 1]",)).plain == "0.1† [0, 1]"
