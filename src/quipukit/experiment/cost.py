"""What an experiment is likely to cost, before it runs: amounts of work, and the time they take."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from quipukit.attackers.base import Attacker
from quipukit.attackers.planted import LENGTH
from quipukit.executors.local import Local
from quipukit.experiment.artifacts import Artifacts
from quipukit.experiment.cells import AttackCell, Cell
from quipukit.experiment.inputs import resolve
from quipukit.experiment.options import Options
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.plan import Plan
from quipukit.experiment.stages.base import Context
from quipukit.experiment.stages.growth import Growth
from quipukit.experiment.stages.sessions import Sessions
from quipukit.progress import ProgressListener, StageTimer
from quipukit.text import tokenize

# Units per second on two cores of an ordinary server, as `python -m benchmarks scale` measures them. A document is
# a passage of some sixty words; ranking is counted in (centroid, log entry) pairs.
RATES = {"words": 30_000.0, "queries": 700.0, "documents": 75.0, "answers": 30_000.0, "pairs": 110e6, "cells": 2.0}

# How many times longer a comparison takes than one of vectors: word by word, and by the law of a mechanism
# (`python -m benchmarks attackers`; laws that are not in closed form take less).
_BY_WORDS, _BY_LAW = 3.0, 75.0
_IN_SESSIONS = 10.0  # `python -m benchmarks sessions`; many sets of texts at once take less

# Share of the variants of a sweep that are new texts: strong noise repeats nothing, weak noise nearly everything.
_NEW_TEXTS = 0.5
# Share of the answers to variants of one query that no other variant found.
_NEW_DOCUMENTS = 0.12


@dataclass(frozen=True)
class Step:
    """One stage of the plan: how much there is to do, in which unit, and whether that is known or estimated."""

    stage: str
    amount: float
    unit: str
    known: bool = True
    rate: str = ""
    slower: float = 1.0  # than its rate says

    @property
    def seconds(self) -> float:
        """Return how long it is likely to take."""
        return self.amount * self.slower / RATES[self.rate or self.unit]


@dataclass(frozen=True)
class Estimate:
    """What an experiment is likely to cost, before it runs."""

    plan: Plan
    obfuscated: int  # cells that are obfuscated already
    steps: Sequence[Step]
    texts: float  # distinct texts to be searched

    @property
    def seconds(self) -> float:
        """Return how long all of it is likely to take."""
        return sum(step.seconds for step in self.steps)

    def rows(self) -> list[list[str]]:
        """Return the estimate as a table: stage, amount, unit, time."""
        rows = [
            [step.stage, f"{'' if step.known else 'about '}{step.amount:,.0f}", step.unit, in_words(step.seconds)]
            for step in self.steps
        ]
        return [*rows, ["all", "", "", in_words(self.seconds)]]

    def caption(self) -> str:
        """Return what the experiment consists of, in words."""
        plan = self.plan
        mechanisms = len({setting.mechanism for setting in plan.settings})
        depths = sorted(set(plan.depths.values()))
        lines = [
            f"{len(plan.queries)} queries of {plan.collection.name} ({len(plan.collection):,} documents), "
            f"{mechanisms} mechanisms, {len(plan.settings)} settings, {len(plan.seeds)} seed(s): "
            f"{len(plan.cells)} cells, {self.obfuscated} of them obfuscated already",
            f"{_joined(plan.options.n)} variants per query, {_joined(depths)} documents each; "
            f"a log of {len(plan.log):,} queries, encoded by {plan.encoder.name}; "
            f"attacked by {_joined(plan.options.attackers)}",
            "times are for two cores, from measured rates; encoding, and attackers that know the mechanism, take most",
        ]
        lines += self._sessions()
        lines += [f"over the network: {self._sent(name)}" for name in plan.options.remote]
        lines += self._log_ceiling()
        return "\n".join([*lines, *(f"left out: {refused['reason']}" for refused in plan.skipped)])

    def _sessions(self) -> list[str]:
        """Say how many sessions there are, and of how many queries."""
        plan = self.plan
        if plan.options.sessions is None:
            return []
        if plan.sessions is None:
            count, queries, where = len(plan.queries), LENGTH * len(plan.queries), "planted"
        else:
            count, queries, where = plan.sessions["sid"].nunique(), len(plan.sessions), "given"
        return [f"sessions: {count:,} {where}, of {queries:,} queries in all; up to three settings of a mechanism"]

    def _log_ceiling(self) -> list[str]:
        """Say what the log lets an attacker find at most, where it lacks originals and is not completed."""
        held, count = self.plan.log_facts["in_log"], len(self.plan.queries)
        if self.plan.options.inject or held >= count:
            return []
        text = f"the log holds {held or 'none'} of the {count} originals, so no risk can exceed {held / count:.3f}"
        return [f"warning: {text}" + ("" if held else "; complete it with the originals, or nothing can be ranked")]

    def _sent(self, system: str) -> str:
        """Say what leaves this machine for a search system."""
        options, queries = self.plan.options, len(self.plan.queries)
        originals = (
            f"none of the {queries} original queries is among them: Identity and settings that draw one are left out"
            if options.private
            else f"the {queries} original queries are among them"
        )
        return f"about {self.texts:,.0f} distinct texts go to {system}; {originals}"


def estimate(options: Options, folder: Path | None = None) -> Estimate:
    """Estimate what an experiment costs; what ``folder`` and the store hold already costs nothing."""
    plan = resolve(options)
    artifacts = Artifacts(folder or Path("/nonexistent"), read_only=True)
    pipeline = Pipeline(Context(plan, artifacts, StageTimer(ProgressListener()), Local()))
    obfuscate, attack = pipeline.obfuscate, pipeline.attack
    missing = obfuscate.missing()
    ready = [cell for cell in plan.cells if cell not in set(missing)]
    variants = len(plan.queries) * sum(cell.setting.n for cell in missing)
    tokens = sum(len(tokenize(query)) for query in plan.queries["query"])
    words = tokens * sum(cell.setting.n for cell in missing)
    unattacked = [
        cell for cell in ready if any(not attack.has(AttackCell(number, cell)) for number in range(len(plan.attackers)))
    ]
    store = pipeline.context.store_of(plan.encoder)
    texts = list(dict.fromkeys(text for cell in unattacked for text in obfuscate.sent(cell)["query"]))
    new = store.missing(texts) + _NEW_TEXTS * variants
    sent = {text for cell in ready for text in obfuscate.sent(cell)["query"]} if options.remote else set()
    cells = len(missing) + len(unattacked)
    exact = not missing
    slower = sum(map(_slowness, plan.attackers)) / len(plan.attackers)
    steps = [
        Step("obfuscate", words, "words"),
        Step("search", len(options.systems) * new, "queries", exact, "answers"),
    ]
    depth = max(plan.depths.values())
    if plan.judged:
        documents = _NEW_DOCUMENTS * depth * new
        times = 1
        if pipeline.ceiling.cells and cells:
            # The originals, searched as deep as the largest pools: about what one variant finds, and the rest's share.
            documents += len(plan.queries) * depth * (1 + _NEW_DOCUMENTS * max(options.n))
            times = 2
        dense = any(system.reranker_name != "bm25" for system in options.systems)
        whole = any(system.retriever_name.startswith("dense") for system in options.systems)
        count = len(plan.collection) if whole else min(len(plan.collection), documents)
        steps.append(Step("encode documents", count if dense or whole else 0, "documents", False))
        steps.append(Step("re-rank and measure", times * len(options.systems) * cells, "cells"))
    steps += [
        Step("encode the log", store.missing(plan.log.texts) if cells else 0, "queries"),
        Step("encode obfuscated queries", new, "queries", exact),
        Step(
            "rank the log",
            len(plan.attackers) * cells * len(plan.queries) * len(plan.log),
            "comparisons",
            True,
            "pairs",
            slower,
        ),
        Step(
            "rank it after fewer variants",
            _rankings_after_fewer(pipeline.growth, set(ready)) * len(plan.queries) * len(plan.log),
            "comparisons",
            True,
            "pairs",
            slower,
        ),
    ]
    if pipeline.sessions.cells:
        steps += _session_steps(pipeline.sessions, set(ready), tokens / max(1, len(plan.queries)))
    return Estimate(plan, len(ready), steps, len(sent) + _NEW_TEXTS * variants)


def _session_steps(sessions: Sessions, ready: Collection[Cell], words: float) -> list[Step]:
    """Return what sessions add: queries planted beside those of the experiment, and what was sent for each, ranked.

    ``words`` is how many words a query has: planted ones are drawn when they are needed.
    """
    plan = sessions.plan
    # What is not obfuscated yet has no key.
    todo = [cell for cell in sessions.cells if cell not in ready or not sessions.has(cell)]
    planted = (LENGTH - 1) * len(plan.queries) if plan.sessions is None else 0
    asked = LENGTH * len(plan.queries) if plan.sessions is None else plan.sessions["qid"].nunique()
    added = planted * words * sum(cell.setting.n for cell in todo)
    ranked = asked * len(todo) * len(plan.log)
    return [
        Step("obfuscate queries of sessions", added, "words", not added),
        Step("rank the log for sessions", ranked, "comparisons", True, "pairs", _IN_SESSIONS),
    ]


def _slowness(attacker: Attacker) -> float:
    if attacker.knows != "log":
        return _BY_LAW
    return _BY_WORDS if type(attacker).sent_vectors is Attacker.sent_vectors else 1.0


def _rankings_after_fewer(growth: Growth, ready: Collection[Cell]) -> int:
    """Return how often the log is ranked after fewer variants than were sent, for each query."""
    # What is not obfuscated yet has no key.
    todo = [cell for cell in growth.cells if cell.cell not in ready or not growth.has(cell)]
    return sum(len(growth.sizes(cell)) for cell in todo)


def _joined(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


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
