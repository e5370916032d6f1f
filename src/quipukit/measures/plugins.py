"""Utility measures of other packages, by name (group ``quipukit.measures``).

An entry gives a function of one query: ``measure(ranking, relevance) -> float``. ``ranking`` are the docnos that were
found, best first, ``relevance`` the judged documents with their grades; a document that is not judged is not in it.
``Name@10`` calls the function with the first ten documents alone. Queries for which nothing was found score 0 and
reach no function, as with the measures of ir_measures, whose names no plugin can take.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

from quipukit.errors import InputError
from quipukit.plugins import Loader, fold, plugins
from quipukit.source_hash import object_hash

GROUP = "quipukit.measures"

Relevance = Mapping[str, int]
MeasureFunction = Callable[[Sequence[str], Relevance], float]


@dataclass(frozen=True)
class PluginMeasure:
    """A measure of another package, with the number of documents that it looks at (None: all)."""

    name: str
    function: MeasureFunction
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"

    @property
    def source_hash(self) -> str:
        """Return the hash of the function's source: what another version computed is computed again."""
        return object_hash(self.function)

    def score(self, ranking: Sequence[str], relevance: Relevance) -> float:
        """Return the score of one query."""
        value: object = self.function(ranking[: self.cutoff], relevance)
        if not isinstance(value, Real) or not math.isfinite(value):
            raise InputError(f"the measure {self} returned {type(value).__name__} {value!r}; it must return a number.")
        return float(value)


def plugin_measure(text: str) -> PluginMeasure | None:
    """Return the measure of that name, with its cutoff, or None where no package brings one."""
    name, _, cutoff = text.partition("@")
    load = measure_plugins().get(name)
    if load is None or (cutoff and not re.fullmatch("[1-9][0-9]*", cutoff)) or text.endswith("@"):
        return None
    function = load()
    if not callable(function):
        raise InputError(f"the measure {name} of a plugin is no function; it must take a ranking and its judgments.")
    return PluginMeasure(name, function, int(cutoff) if cutoff else None)


def measure_plugins() -> Mapping[str, Loader]:
    """Return the measures of other packages by name, each as a function that loads it."""
    import ir_measures

    return plugins(GROUP, tuple((fold(name), name) for name in ir_measures.measures.registry))
