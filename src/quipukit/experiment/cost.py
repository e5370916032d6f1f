"""What an experiment will cost, before it runs: the plan with its amounts, and the time they are likely to take."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quipukit.experiment.inputs import Inputs, Options, resolve
from quipukit.experiment.pieces import Pieces
from quipukit.experiment.stages import Stages
from quipukit.progress import ProgressListener, StageTimer
from quipukit.text import tokenize

# Units per second on two cores of an ordinary server, as `python -m benchmarks scale` measures them. A document is
# a passage of some sixty words; ranking is counted in (centroid, log entry) pairs.
RATES = {"words": 30_000.0, "queries": 700.0, "documents": 75.0, "answers": 30_000.0, "pairs": 110e6, "cells": 2.0}

# Of the variants of a sweep, about so many are new texts: strong noise repeats nothing, weak noise nearly everything.
_NEW_TEXTS = 0.5
# Of the answers to variants of one query, about so many are documents that no other variant found.
_NEW_DOCUMENTS = 0.12


@dataclass(frozen=True)
class Step:
    """One stage of the plan: how much there is to do, in which unit, and whether that is known or estimated."""

    stage: str
    amount: float
    unit: str
    known: bool = True
    rate: str = ""

    @property
    def seconds(self) -> float:
        """Return how long it is likely to take."""
        return self.amount / RATES[self.rate or self.unit]


@dataclass(frozen=True)
class Plan:
    """An experiment before it runs."""

    inputs: Inputs
    cells: int
    finished: int
    steps: Sequence[Step]
    texts: float  # distinct texts to be searched

    @property
    def seconds(self) -> float:
        """Return how long all of it is likely to take."""
        return sum(step.seconds for step in self.steps)

    def rows(self) -> list[list[str]]:
        """Return the plan as a table: stage, amount, unit, time."""
        rows = [
            [step.stage, f"{'' if step.known else 'about '}{step.amount:,.0f}", step.unit, in_words(step.seconds)]
            for step in self.steps
        ]
        return [*rows, ["all", "", "", in_words(self.seconds)]]

    def caption(self) -> str:
        """Return what the plan is made of, in words."""
        inputs = self.inputs
        mechanisms = len({setting.mechanism for setting in inputs.settings})
        lines = [
            f"{len(inputs.queries)} queries of {inputs.collection.name} ({len(inputs.collection):,} documents), "
            f"{mechanisms} mechanisms, {len(inputs.settings)} settings, {len(inputs.seeds)} seed(s): "
            f"{self.cells} cells, {self.finished} of them obfuscated already",
            f"{inputs.options.n} variants per query, {inputs.depth} documents each; "
            f"a log of {len(inputs.log):,} queries, encoded by {inputs.encoder.name}",
            "times are for two cores, from measured rates; encoding is nearly all of it",
        ]
        lines += [f"over the wire: {self._sent(name)}" for name in inputs.options.remote]
        lines += self._ceiling()
        return "\n".join([*lines, *(f"left out: {refused['reason']}" for refused in inputs.skipped)])

    def _ceiling(self) -> list[str]:
        """Say what the log lets an attacker find at most, where it lacks originals and is not completed."""
        held, count = self.inputs.log_facts["in_log"], len(self.inputs.queries)
        if self.inputs.options.inject or held >= count:
            return []
        text = f"the log holds {held or 'none'} of the {count} originals, so no risk can exceed {held / count:.3f}"
        return [f"warning: {text}" + ("" if held else "; leave out --no-inject, or nothing can be ranked")]

    def _sent(self, system: str) -> str:
        """Say what leaves this machine for a search system."""
        options, queries = self.inputs.options, len(self.inputs.queries)
        originals = (
            f"none of the {queries} original queries is among them: Identity and settings that draw one are left out"
            if options.private
            else f"the {queries} original queries are among them"
        )
        return f"about {self.texts:,.0f} distinct texts go to {system}; {originals}"


def estimate(options: Options, folder: Path | None = None) -> Plan:
    """Return the plan of an experiment; what ``folder`` and the store hold already costs nothing."""
    inputs = resolve(options)
    stages = Stages(inputs, Pieces(folder or Path("/nonexistent")), StageTimer(ProgressListener()))
    missing = [cell for cell in stages.cells if not stages.has_obfuscated(cell)]
    ready = [cell for cell in stages.cells if cell not in set(missing)]
    per_cell = len(inputs.queries) * options.n
    words = sum(len(tokenize(query)) for query in inputs.queries["query"]) * options.n * len(missing)
    unattacked = [cell for cell in ready if not stages.pieces.has("attack", stages.attack_name(cell))]
    texts = list(dict.fromkeys(text for cell in unattacked for text in stages.obfuscated(cell)["query"]))
    new = stages.store.missing(texts) + _NEW_TEXTS * per_cell * len(missing)
    sent = {text for cell in ready for text in stages.obfuscated(cell)["query"]} if options.remote else set()
    cells = len(missing) + len(unattacked)
    exact = not missing
    steps = [
        Step("obfuscate", words, "words"),
        Step("encode the log", stages.store.missing(inputs.log.texts) if cells else 0, "queries"),
        Step("encode obfuscated queries", new, "queries", exact),
        Step("search", len(options.systems) * new, "queries", exact, "answers"),
    ]
    if not inputs.qrels.empty:
        found = _NEW_DOCUMENTS * inputs.depth * new
        twice = 1
        if stages.has_ceilings and cells:
            # The originals, searched as deep as the largest pools: about what one variant finds, and the rest's share.
            found += len(inputs.queries) * inputs.depth * (1 + _NEW_DOCUMENTS * options.n)
            twice = 2
        dense = any(reranker != "bm25" for _, reranker in options.systems)
        whole = any(retriever.startswith("dense") for retriever, _ in options.systems)
        count = len(inputs.collection) if whole else min(len(inputs.collection), found)
        steps.append(Step("encode documents", count if dense or whole else 0, "documents", False))
        steps.append(Step("re-rank and measure", twice * len(options.systems) * cells, "cells"))
    steps.append(Step("rank the log", cells * len(inputs.queries) * len(inputs.log), "comparisons", True, "pairs"))
    return Plan(inputs, len(stages.cells), len(ready), steps, len(sent) + _NEW_TEXTS * per_cell * len(missing))


def in_words(seconds: float) -> str:
    """Write a time as people say it.

    >>> in_words(0.2), in_words(75), in_words(7330)
    ('under 1 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 1:
        return "under 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
