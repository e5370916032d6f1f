"""What an experiment is likely to cost, before it runs: amounts of work, time, memory and disk."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from quipukit.attackers.planted import LENGTH
from quipukit.executors.local import Local
from quipukit.experiment.artifacts import Artifacts
from quipukit.experiment.cost.amounts import Amounts
from quipukit.experiment.cost.calibrate import calibrated, with_encoder
from quipukit.experiment.cost.lengths import spread
from quipukit.experiment.cost.rates import TWO_CORES, Rates
from quipukit.experiment.cost.space import Space, shortages, space
from quipukit.experiment.cost.steps import Step, documents_of, steps
from quipukit.experiment.inputs import resolve
from quipukit.experiment.options import Options
from quipukit.experiment.pipeline import Pipeline
from quipukit.experiment.plan import Plan
from quipukit.experiment.stages.base import Context
from quipukit.progress import ProgressListener, StageTimer


@dataclass(frozen=True)
class Estimate:
    """What an experiment is likely to cost, before it runs."""

    plan: Plan
    obfuscated: int  # cells that are obfuscated already
    steps: Sequence[Step]
    texts: float  # distinct texts to be searched
    space: Space
    shortages: Sequence[str] = ()

    @property
    def seconds(self) -> float:
        """Return how long all of it is likely to take."""
        return sum(step.seconds for step in self.steps)

    def rows(self) -> list[list[str]]:
        """Return the estimate as a table: stage, amount, unit, time."""
        rows = [
            [step.stage, f"{'' if step.known else 'about '}{step.amount:,.0f}", step.units, in_words(step.seconds)]
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
            "times are for this machine as it is now, from short measurements and the lengths of a sample of texts, "
            "and rough: a factor of two to either side is no surprise; what is encoded already costs nothing",
            f"about {self.space}",
            *(f"warning: {line}" for line in self.shortages),
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


def estimate(options: Options, folder: Path | None = None, rates: Rates | None = None) -> Estimate:
    """Estimate what an experiment costs; what ``folder`` and the store hold already costs nothing.

    Without ``rates`` they are measured, which takes a second or two, and some more where a transformer has much to do.
    """
    plan = resolve(options)
    artifacts = Artifacts(folder or Path("/nonexistent"), read_only=True)
    pipeline = Pipeline(Context(plan, artifacts, StageTimer(ProgressListener()), Local()))
    amounts = Amounts(pipeline)
    sent = pipeline.obfuscate.sent
    known = {text for cell in amounts.ready for text in sent(cell)["query"]} if options.remote else set()
    need = space(amounts)
    if rates is None:
        rates = measured_rates(amounts)
    return Estimate(
        plan=plan,
        obfuscated=len(amounts.ready),
        steps=steps(amounts, rates),
        texts=len(known) + amounts.drawn_texts,
        space=need,
        shortages=shortages(need, folder),
    )


def measured_rates(amounts: Amounts) -> Rates:
    """Return rates for this machine, as it is now; of a transformer those for what it has most of."""
    rates = calibrated(TWO_CORES)
    documents = next(documents_of(amounts), None)
    if documents is not None and documents.count * documents.tokens > amounts.log.count * amounts.log.tokens:
        return with_encoder(rates, documents.encoder, amounts.document_sample, documents.tokens, documents.count)
    log = amounts.log
    return with_encoder(rates, log.encoder, spread(amounts.plan.log.texts), log.tokens, log.count)


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
