"""The law of 1-Diffractor: what comes out of a word depends on positions in public lists alone."""

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Rows
from quipukit.attackers.tables import WordLaw
from quipukit.mechanisms.diffractor import Diffractor

_COLUMNS = 4096  # words of the log at a time


class PositionLaw(WordLaw):
    """ln P(y | x) in closed form, for the words of a log."""

    def __init__(self, sites: LogSites, mechanism: Diffractor) -> None:
        """Look up the positions of every column; one that is no word stands where the nearest word does."""
        super().__init__(sites)
        self._mechanism = mechanism
        rows = sites.rows.copy()
        outside = np.flatnonzero((sites.kinds == 0) & (rows < 0))
        rows[outside] = [mechanism.row_of(point, -1) for point in sites.places(outside)]
        self._rows = rows

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the sums of ln P; any word can come out of any other."""
        likelihood = np.empty((len(counts), len(columns)))
        for start in range(0, len(columns), _COLUMNS):
            places = self._mechanism.positions[:, self._rows[columns[start : start + _COLUMNS]]]
            likelihood[:, start : start + _COLUMNS] = counts @ self._mechanism.log_probs_of(rows, places)
        return likelihood, np.zeros_like(likelihood)
