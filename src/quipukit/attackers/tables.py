"""Tables of log-likelihoods: how likely each word of a log gives what was sent at each position.

A table holds, for every position i and column x (see `quipukit.attackers.logsites`), the sum over what was sent there
of ln P(y | x). What cannot come out of x at all does not make it minus infinity: it is counted, as a violation.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from quipukit.attackers.logsites import Floats, LogSites, Observed, Rows
from quipukit.mechanisms.words import GAUSSIAN, KEEP, UNIFORM

OfPlaces = Callable[[Rows, Floats, Rows], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Table:
    """Log-likelihoods and violations, positions x columns."""

    log_likelihood: Floats
    violations: Floats

    @classmethod
    def empty(cls, seen: Observed, columns: Rows) -> "Table":
        """Return a table in which nothing has been seen, but for the words that nothing can have given."""
        shape = (seen.length, len(columns))
        return cls(np.zeros(shape), np.broadcast_to(seen.unknown[:, None], shape).copy())


class WordLaw(ABC):
    """The law of a mechanism that replaces words one by one, for the words of one log.

    A stand-in may leave out of ln P(y | x) what depends on y alone; it then says what it takes for ln P(y).
    """

    # Which tables cost less when they are asked for at once: none, those of queries of one length, or any.
    together: ClassVar[Literal["none", "length", "any"]] = "none"

    def __init__(self, sites: LogSites) -> None:
        """Keep the log as the mechanism sees it."""
        self.sites = sites

    def table(self, seen: Observed, columns: Rows) -> Table:
        """Return the likelihoods of what was sent under some columns."""
        return self._filled(seen, columns, self.of_places)

    def tables(self, several: "Sequence[tuple[Observed, Rows]]") -> list[Table]:
        """Return the tables of many sets of texts, each under columns of its own."""
        return [self.table(seen, columns) for seen, columns in several]

    def _filled(self, seen: Observed, columns: Rows, of_places: OfPlaces) -> Table:
        table = Table.empty(seen, columns)
        kinds = self.sites.kinds[columns]
        inside = seen.rows < len(self.sites.vectors)
        known = seen.counts[:, inside]
        here = np.flatnonzero(kinds == 0)
        if len(here) and len(seen.rows):
            likelihood, violations = of_places(seen.rows[inside], known, columns[here])
            table.log_likelihood[:, here] = likelihood
            table.violations[:, here] += violations
        # A word that was kept although the vocabulary lacks it comes from itself alone.
        table.violations[:, kinds != KEEP] += seen.counts[:, ~inside].sum(axis=1, keepdims=True)
        anywhere = (kinds == UNIFORM) | (kinds == GAUSSIAN)
        # A fresh Gaussian place has no closed form; taken for uniform.
        table.log_likelihood[:, anywhere] = -np.log(len(self.sites.vectors)) * known.sum(axis=1, keepdims=True)
        kept = np.flatnonzero(kinds == KEEP)
        if len(kept):
            table.violations[:, kept] += seen.counts.sum(axis=1, keepdims=True) - _same(
                seen, self.sites.rows[columns[kept]]
            )
        return table

    def log_marginal(self, rows: Rows) -> "Floats | None":
        """Return ln P(y) for outputs, where likelihoods are no probabilities; None where they are."""
        return None

    def surplus(self, columns: Rows) -> Floats:
        """Return by how much the likelihoods of a text exceed ln P(y | x) / P(y), where ln P(y) is given."""
        return np.zeros(len(columns))

    @abstractmethod
    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return log-likelihoods and violations of outputs (``counts``: positions x rows) under places of words."""


def columns_of_any(several: "Iterable[Rows]") -> Rows:
    """Return the columns that at least one of several sets of texts needs, in rising order."""
    distinct = {id(columns): columns for columns in several}  # those of one length are one array
    return next(iter(distinct.values())) if len(distinct) == 1 else np.unique(np.concatenate([*distinct.values()]))


def _same(seen: Observed, rows: Rows) -> Floats:
    """Return how often each of some outputs stood at each position."""
    found = np.searchsorted(seen.rows, rows)
    hit = (
        (found < len(seen.rows)) & (seen.rows[np.minimum(found, len(seen.rows) - 1)] == rows)
        if len(seen.rows)
        else np.zeros(len(rows), bool)
    )
    counts = np.zeros((seen.length, len(rows)))
    counts[:, hit] = seen.counts[:, found[hit]]
    return counts


class Uniform(WordLaw):
    """Every word of the vocabulary, whatever was asked."""

    def of_places(self, rows: Rows, counts: Floats, columns: Rows) -> tuple[Floats, Floats]:
        """Return the same for all places."""
        shape = (len(counts), len(columns))
        likelihood = -np.log(len(self.sites.vectors)) * counts.sum(axis=1, keepdims=True)
        return np.broadcast_to(likelihood, shape), np.zeros(shape)
