"""The law of one word's output, in logarithms, where it has a closed form."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.errors import NoClosedForm
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.sampling import Place, Sampling
from quipukit.mechanisms.words import GAUSSIAN, KEEP, UNIFORM, WordMechanism, find_sites

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

ITSELF = -1  # stands for the input, where that is no word of the vocabulary


@dataclass(frozen=True)
class LogLaw:
    """The outputs that are possible, as rows of the vocabulary or pool in increasing order, and ln P of each."""

    rows: Rows
    logs: Floats

    def at(self, rows: Rows) -> Floats:
        """Return ln P of some rows; minus infinity for what is impossible."""
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, self.logs[place], -np.inf)

    @property
    def support(self) -> bytes:
        """Return something that is equal for laws with the same possible outputs."""
        return self.rows.tobytes()


def has_law(mechanism: Mechanism) -> bool:
    """Return whether the law of the outputs is known."""
    if callable(getattr(mechanism, "log_probs", None)) and hasattr(mechanism, "cover"):
        return True
    if not isinstance(mechanism, WordMechanism) or not len(mechanism.vectors):
        return False
    try:
        log_law(mechanism, str(mechanism.vectors.words[0]))
    except NoClosedForm:
        return False
    return True


def log_law(mechanism: Mechanism, text: str) -> LogLaw:
    """Return the law of one word, or of a query of a mechanism over a pool.

    From the logarithms of the weights where a mechanism has them: probabilities of far words are too small for numbers.
    """
    if not isinstance(mechanism, WordMechanism):
        logs = np.asarray(mechanism.log_probs(text), np.float64)  # type: ignore[attr-defined]
        return _law(np.arange(len(logs)), logs)
    if not isinstance(mechanism, Sampling):
        law = mechanism.word_law(text)
        with np.errstate(divide="ignore"):
            return _law(law.rows, np.log(law.probabilities))
    one = mechanism.one_word()
    sites = find_sites(one, [("", text)])
    if len(sites.words) != 1:
        raise NoClosedForm(f"{text!r} is {len(sites.words)} words to {mechanism.name}; its law is known word by word.")
    kind, size = int(sites.site_of[0]), len(one.vectors)
    if kind == KEEP:
        return LogLaw(np.array([one.vectors.row(sites.words[0])]), np.zeros(1))  # ITSELF, where it is unknown
    if kind == GAUSSIAN:
        raise NoClosedForm(f"{mechanism.name} gives an unknown word a random place (oov='gaussian').")
    if kind == UNIFORM:
        return LogLaw(np.arange(size), np.full(size, -np.log(size)))
    rows, weights = one.law(one.neighborhood(Place(sites.points[kind], sites.rows[kind])))
    top = float(weights.max())
    return _law(rows, weights - top - np.log(np.exp(weights - top).sum()))


def _law(rows: Rows, logs: Floats) -> LogLaw:
    possible = logs > -np.inf
    if not possible.all():
        rows, logs = rows[possible], logs[possible]
    size = int(rows.max()) + 1 if len(rows) else 0
    if size < 2 * len(rows) and rows.min() >= 0:  # most of the vocabulary: to put it in place is faster than to sort it
        by_row = np.full(size, -np.inf)
        by_row[rows] = logs
        placed = np.flatnonzero(by_row > -np.inf)
        if len(placed) == len(rows):  # no row is listed twice
            return LogLaw(placed, by_row[placed])
    order = np.argsort(rows, kind="stable")
    rows, logs = rows[order], logs[order]
    if len(rows) > 1 and (rows[1:] == rows[:-1]).any():  # one word may be listed twice: kept, or drawn
        distinct, first = np.unique(rows, return_index=True)
        return LogLaw(distinct, np.logaddexp.reduceat(logs, first))
    return LogLaw(rows, logs)
