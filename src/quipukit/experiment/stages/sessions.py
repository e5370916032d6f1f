"""Attack the last queries of sessions, at a few settings of every mechanism.

Chosen are three settings of a mechanism at most, spread over its values, and no reference. Planted sessions hold
queries of the log beside those of the experiment: they are obfuscated here, and are never searched with or sent.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.attackers.planted import LENGTH, Planted, plant_sessions
from quipukit.attackers.sessions import LENGTHS, session_attack
from quipukit.experiment.cells import Cell
from quipukit.experiment.options import PLANTED
from quipukit.experiment.plan import fingerprint
from quipukit.experiment.stages.base import Context, Stage
from quipukit.experiment.stages.growth import spread
from quipukit.frames import OBFUSCATED, SESSION_RANKS, SETTING
from quipukit.obfuscation import obfuscate

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate


class Sessions(Stage[Cell]):
    """Caches `quipukit.session_attack`: the ranks of the sessions' last queries, after 1, 2, 3 and 5 queries seen."""

    name = "sessions"

    def __init__(self, context: Context, obfuscate: "Obfuscate") -> None:
        super().__init__(context)
        self.obfuscate = obfuscate

    @property
    def cells(self) -> Sequence[Cell]:
        if self.plan.options.sessions is None:
            return []
        largest = max(self.plan.ns) if len(self.plan.ns) > 1 else None
        settings = [one for one in self.plan.settings if one.strategy != "reference" and largest in (None, one.n)]
        chosen = set(spread(settings))
        return [cell for cell in self.plan.cells if cell.seed == self.plan.seeds[0] and cell.setting in chosen]

    @functools.cached_property
    def sessions(self) -> Planted:
        """Return the sessions and all of their queries."""
        plan = self.plan
        if plan.sessions is not None:
            return Planted(plan.sessions, plan.queries)
        with self.context.timer.stage("planting sessions", "queries") as progress:
            return plant_sessions(
                plan.queries, plan.log.public, plan.encoder, LENGTH, plan.options.seed, progress=progress
            )

    def depends_on(self, cell: Cell) -> Any:
        plan = self.plan
        which = PLANTED if plan.sessions is None else fingerprint(plan.sessions.to_dict("list"))
        inputs = [plan.fingerprints[name] for name in ("queries", "log", "encoder")]
        vectors = "" if plan.vectors is None else plan.vectors.fingerprint
        noise = [self.obfuscate.key(cell), self.obfuscate.digest(cell), plan.options.seed]
        return [noise, self.obfuscate.law(cell), cell.setting.key, inputs, vectors, which, list(LENGTHS)]

    def compute(self, missing: Sequence[Cell]) -> Iterator[tuple[Cell, pd.DataFrame]]:
        plan, sessions = self.plan, self.sessions
        for cells in plan.batches(missing):
            sent = pd.concat([self._sent(cell, sessions) for cell in cells], ignore_index=True)
            with self.context.timer.stage("ranking the log for sessions", "queries") as progress:
                ranks = session_attack(
                    sent,
                    sessions.queries,
                    sessions.sessions,
                    plan.log,
                    encoder=plan.encoder,
                    vectors=plan.vectors,
                    mechanisms=plan.mechanisms,
                    inject=plan.options.inject,
                    settings=pd.DataFrame([cell.setting.key for cell in cells], columns=list(SETTING)),
                    store_of=self.context.store_of,
                    progress=progress,
                )
            for cell in cells:
                yield cell, SESSION_RANKS.check(cell.rows_of(ranks))

    def _sent(self, cell: Cell, sessions: Planted) -> pd.DataFrame:
        """Return what each query of the sessions sends alone: those of the experiment, and the planted ones."""
        own = self.obfuscate.sent(cell)
        added = sessions.queries[~sessions.queries["qid"].isin(set(self.plan.queries["qid"]))]
        bound = cell.setting.bound
        if added.empty or bound is None:
            return own
        options = self.plan.options
        more = obfuscate(
            added, bound, cell.setting.n, seed=cell.seed, noise=options.noise, executor=self.context.executor
        )
        return pd.concat([own, more[list(OBFUSCATED.columns)]], ignore_index=True)
