"""A pilot: a few queries of the log, hidden under some settings, to see where risk and utility move.

The queries come from the log and never from those of the experiment: what places the settings must not be what they
are judged by afterwards, or bounds on the risk would not hold. Utility is the share of what the query itself finds
that is still among the documents pooled; it needs neither judgments nor a re-ranker.
"""

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from quipukit.attackers.panel import Panel
from quipukit.errors import InputError, QuipukitError
from quipukit.experiment.adaptive import Placement, Point
from quipukit.experiment.artifacts import key_of
from quipukit.experiment.folder import write_errors
from quipukit.experiment.plan import Plan
from quipukit.frames import SETTING, queries_frame
from quipukit.mechanisms.base import Mechanism
from quipukit.obfuscation import mechanism, obfuscate_with_notes
from quipukit.progress import StageTimer
from quipukit.registry import mechanism_class
from quipukit.retrieval.base import Retriever
from quipukit.retrieval.pool import search_distinct
from quipukit.settings import Setting
from quipukit.source_hash import source_hash
from quipukit.specs import Spec, format_value
from quipukit.storage import atomic_write
from quipukit.text import key, tokenize

FILE = "grid.json"
_QUERIES = 8
_FEWEST = 4
_WORDS = range(3, 13)
_TOP = 10  # documents that the query itself finds


def place(plan: Plan, open_specs: Sequence[Spec], folder: Path, timer: StageTimer) -> Plan:
    """Return the plan with settings of some mechanisms placed, in place of their fixed grids.

    What is measured is written down in the folder: a run that resumes places the same settings without measuring them
    again.
    """
    pilot = Pilot(plan, folder)
    if len(pilot.queries) < _FEWEST:
        timer.listener.say(
            f"the log has no {_FEWEST} queries of {_WORDS[0]} to {_WORDS[-1]} words to place settings with: the fixed "
            "grid of each mechanism is used."
        )
        return plan
    placements = {spec: Placement(mechanism_class(spec.name).grid) for spec in open_specs}
    with timer.stage("placing settings", "settings") as progress:
        while wanted := [spec @ value for spec, one in placements.items() for value in one.wanted()]:
            for spec, point in pilot.measure(wanted).items():
                assert spec.value is not None
                placements[replace(spec, value=None)].points[spec.value] = point
            done = sum(len(one.points) for one in placements.values())
            progress(done, done + sum(len(one.wanted()) for one in placements.values()))
    placed = {spec: one.placed() for spec, one in placements.items()}
    for spec, values in placed.items():
        timer.listener.say(f"settings of {spec!r}: {', '.join(map(format_value, values))}")
    return _with_settings(plan, placed)


def _with_settings(plan: Plan, placed: dict[Spec, list[float]]) -> Plan:
    """Return the plan with the settings of some mechanisms in place of those that it had."""
    values = {spec.family: [spec @ value for value in found] for spec, found in placed.items()}
    chosen: list[Mechanism] = []
    for family in dict.fromkeys(one.spec.family for one in plan.mechanisms):
        made = [mechanism(spec, vectors=plan.vectors) for spec in values.get(family, ())]
        chosen += made or [one for one in plan.mechanisms if one.spec.family == family]
    return replace(
        plan,
        options=replace(plan.options, specs=tuple(one.spec for one in chosen)),
        settings=tuple(Setting.of(one, n) for n in plan.options.n for one in chosen),
    )


class Pilot:
    """Measures settings with a few queries of the log."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        """Choose the queries; nothing is measured."""
        self.plan, self.path = plan, folder / FILE
        self.n = max(plan.options.n)
        self.queries = _queries(plan)
        self._known = self._load()

    def measure(self, specs: Sequence[Spec]) -> dict[Spec, Point]:
        """Return what settings do, of those measured before from what was written down."""
        new = [spec for spec in specs if repr(spec) not in self._known]
        if new:
            self._known |= {repr(spec): point for spec, point in self._measured(new).items()}
            self._save()
        return {spec: self._known[repr(spec)] for spec in specs}

    def _measured(self, specs: Sequence[Spec]) -> dict[Spec, Point]:
        options = self.plan.options
        bound: dict[Spec, Mechanism] = {}
        for spec in specs:
            try:
                bound[spec] = mechanism(spec, vectors=self.plan.vectors)
            except QuipukitError as fault:
                raise InputError(f"settings of {replace(spec, value=None)!r} cannot be placed: {fault}") from None
        sent = obfuscate_with_notes(
            self.queries, list(bound.values()), self.n, seed=options.seed, noise=options.noise
        ).table
        ranks = self.panel.ranks(sent, self.queries)
        risks = (1 / ranks["log_rank"]).groupby([ranks["mechanism"], ranks["value"], ranks["attacker"]]).mean()
        found = self._found(sent)
        points = {}
        for spec, one in bound.items():
            name = (one.spec.family, one.value)
            against = tuple(float(risks[(*name, attacker)]) for attacker in self.panel.names)
            points[spec] = Point(against, None if found is None else float(found[name]))
        return points

    @functools.cached_property
    def panel(self) -> Panel:
        """Return the attackers that need not know a mechanism, with the log that they know."""
        agnostic = [one for one in self.plan.attackers if one.knows == "log"]
        return Panel(agnostic or ["QuIA"], self.plan.log, encoder=self.plan.encoder, vectors=self.plan.vectors)

    @functools.cached_property
    def _retriever(self) -> "Retriever | None":
        system = next((one for one in self.plan.options.systems if not one.remote), None)
        return None if system is None else system.load_retriever(self.plan.collection)

    def _found(self, sent: pd.DataFrame) -> "pd.Series | None":
        """Return how much of what the queries find themselves is pooled; nothing goes over the network for it."""
        if self._retriever is None:
            return None
        own = search_distinct(self.queries["query"].tolist(), self._retriever, _TOP)
        top = {row.qid: set(own[row.query].docnos[:_TOP]) for row in self.queries.itertuples()}
        answers = search_distinct(sent["query"].tolist(), self._retriever, self.plan.depths[self.n])
        pooled: dict[tuple[str, float, str], set[str]] = {}
        for row in sent.itertuples():
            pooled.setdefault((row.mechanism, row.value, row.qid), set()).update(answers[row.query].docnos)
        shares = [
            (name, value, len(found & top[qid]) / len(top[qid]))
            for (name, value, qid), found in pooled.items()
            if top[qid]
        ]
        frame = pd.DataFrame(shares, columns=["mechanism", "value", "share"])
        means = frame.groupby(["mechanism", "value"])["share"].mean()
        settings = sent[list(SETTING)].drop_duplicates()
        return means.reindex(pd.MultiIndex.from_frame(settings[["mechanism", "value"]]), fill_value=0.0)

    # --- what is written down ---

    @functools.cached_property
    def _key(self) -> str:
        """Return a hash over what the measurements depend on, besides the setting."""
        options, prints = self.plan.options, self.plan.fingerprints
        attackers = [[name, self.panel.fingerprint(name)] for name in self.panel.names]
        systems = [[one.retriever_name, one.retriever_fingerprint] for one in options.systems]
        vectors = "" if self.plan.vectors is None else self.plan.vectors.fingerprint
        chosen = [self.n, options.seed, options.noise, dict(self.plan.depths), vectors, attackers, systems]
        return key_of(source_hash(__name__), prints["log"], prints["collection"], prints["queries"], chosen)

    def _load(self) -> dict[str, Point]:
        if not self.path.is_file():
            return {}
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            if content["key"] != self._key:
                return {}
            return {name: Point(tuple(risks), utility) for name, (risks, utility) in content["points"].items()}
        except (OSError, ValueError, KeyError, TypeError):  # it is measured again
            return {}

    def _save(self) -> None:
        points = {name: [point.risks, point.utility] for name, point in self._known.items()}
        content = json.dumps({"key": self._key, "points": points}, indent=1) + "\n"
        with write_errors(self.path.parent), atomic_write(self.path) as draft:
            draft.write_text(content, encoding="utf-8")


def _queries(plan: Plan) -> pd.DataFrame:
    """Return some queries of the log that are none of the experiment's: chosen by a hash, whatever their order."""
    asked = {key(text) for text in plan.queries["query"]}
    by_hash = sorted((hashlib.sha256(key(text).encode()).digest(), text) for text in plan.log.public)
    chosen = (text for _, text in by_hash if len(tokenize(text)) in _WORDS and key(text) not in asked)
    some = [text for text, _ in zip(chosen, range(_QUERIES), strict=False)]
    return queries_frame(some)
