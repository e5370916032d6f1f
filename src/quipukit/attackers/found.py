"""What an attacker finds for many sets of texts, and the table of ranks that it makes."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker
from quipukit.attackers.task import GROUP, Task

Rows = NDArray[np.int64]


class Found(NamedTuple):
    """What an attacker finds: counts where the original is in the log (``there``), and the row of its first guess."""

    there: Rows
    better: Rows  # how many other rows come before the target
    tied: Rows  # how many stand level with it
    first: Rows  # -1 where it is not known

    @classmethod
    def none(cls, there: Rows, count: int) -> "Found":
        """Return what is found before anything was counted, for ``count`` sets of texts."""
        return cls(there, np.zeros(len(there), np.int64), np.zeros(len(there), np.int64), np.full(count, -1))


def ranked(attacker: Attacker, task: Task, found: Found) -> pd.DataFrame:
    """Return the ranks of an attacker, of which counts are known where the original is in the log."""
    ranked = task.groups[task.targets >= 0].assign(better=found.better, tied=found.tied)
    table = task.asked.merge(ranked, on=list(GROUP), how="left").fillna({"better": -1, "tied": 0})
    log_rank = np.where(table["better"] >= 0, table["better"] + 1 + table["tied"] / 2, np.inf)
    return table.assign(attacker=repr(attacker.spec), log_rank=log_rank)
