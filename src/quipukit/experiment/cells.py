"""Cells: the units of an experiment's work, each finished or not."""

from typing import NamedTuple

import pandas as pd

from quipukit.settings import Setting


class Cell(NamedTuple):
    """One setting under one seed of the noise."""

    seed: int
    setting: Setting

    def rows_of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a frame that belong to the setting."""
        mechanism, _, value = self.setting.key
        return frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)].reset_index(drop=True)


class SystemCell(NamedTuple):
    """A cell, searched by one system (by its number in the options)."""

    system: int
    cell: Cell


class AttackCell(NamedTuple):
    """A cell, attacked by one attacker (by its number in the options)."""

    attacker: int
    cell: Cell
