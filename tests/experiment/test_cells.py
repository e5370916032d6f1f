"""Cells: which rows are theirs."""

import pandas as pd

from quipukit.experiment.cells import AttackCell, Cell, SystemCell
from quipukit.settings import Setting


def test_rows_of_a_setting_are_found_by_mechanism_and_value() -> None:
    frame = pd.DataFrame({"mechanism": ["CMP", "CMP", "TEM"], "value": [5.0, 10.0, 5.0], "score": [1, 2, 3]})
    cell = Cell(7, Setting("CMP", "epsilon", 10.0, 3))
    assert cell.rows_of(frame)["score"].tolist() == [2]


def test_cells_can_be_told_apart() -> None:
    cells = [Cell(seed, Setting("CMP", "epsilon", 5.0, n)) for seed in (7, 8) for n in (3, 4)]
    assert len({*cells, *(SystemCell(0, cell) for cell in cells), *(AttackCell(1, cell) for cell in cells)}) == 12
