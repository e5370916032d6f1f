"""Let every attacker rank the query log for every cell."""

import functools
import secrets
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.panel import Panel
from quipukit.experiment.artifacts import key_of
from quipukit.experiment.cells import AttackCell, Cell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.fingerprints import state_of
from quipukit.frames import RANKS, SETTING
from quipukit.registry import installed_class
from quipukit.source_hash import code_key

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate


class Attack(Stage[AttackCell]):
    """Caches `quipukit.attack`: the rank of every original, as one attacker sees it."""

    name = "attack"
    tables = ("ranks",)

    def __init__(self, context: Context, obfuscate: "Obfuscate") -> None:
        super().__init__(context)
        self.obfuscate = obfuscate

    @property
    def cells(self) -> Sequence[AttackCell]:
        return self.plan.attack_cells

    @functools.cached_property
    def panel(self) -> Panel:
        """Return the attackers, with the log that they know."""
        plan = self.plan
        mechanisms = plan.mechanisms
        return Panel(
            plan.attackers, plan.log, encoder=plan.encoder, store_of=self.context.store_of, mechanisms=mechanisms
        )

    def depends_on(self, cell: AttackCell) -> Any:
        fingerprints = [self.plan.fingerprints[name] for name in ("queries", "log")]
        # With the setting: where two of them send nothing at all, what they sent is the same.
        own = [self.obfuscate.digest(cell.cell), cell.cell.setting.key, fingerprints, self.attacker(cell.attacker)]
        return [*own, self._law(cell.cell)] if self.plan.attackers[cell.attacker].knows != "log" else own

    def _law(self, cell: Cell) -> str:
        """Return a hash over the mechanism, for attackers that know it: two with one output may differ in their law."""
        if cell.setting.bound is not None:
            return self.obfuscate.law(cell)
        named = installed_class(cell.setting.mechanism)
        return "" if named is None else code_key(named)

    def attacker(self, number: int) -> list[Any]:
        """Return what an attacker's ranks depend on, beside what it sees."""
        name = self.panel.names[number]
        code = code_key(type(self.panel.attackers[number]))
        return [name, code, self.panel.fingerprint(name), self._states[number]]

    @functools.cached_property
    def _states(self) -> list[str]:
        return [state_hash(one) for one in self.plan.attackers]  # not the panel's: they change as they learn the log

    def compute(self, missing: Sequence[AttackCell]) -> Iterator[tuple[AttackCell, pd.DataFrame]]:
        timer, panel = self.context.timer, self.panel
        for number, name in enumerate(panel.names):
            mine = [cell.cell for cell in missing if cell.attacker == number]
            if not mine:
                continue
            with timer.stage("encoding the log", "queries") as progress:
                panel.prepare(progress, [name])
            with timer.stage("encoding obfuscated queries", "queries") as progress:
                texts = dict.fromkeys(text for cell in mine for text in self.obfuscate.sent(cell)["query"])
                panel.encode(list(texts), progress, [name])
            # One pass over the log for each batch.
            for batch in dict.fromkeys(map(self.plan.batch, mine)):
                some = [cell for cell in mine if self.plan.batch(cell) == batch]
                with timer.stage(ranking_title(name, panel), "queries") as progress:
                    ranks = panel.ranks(
                        self.sent_by(some),
                        self.plan.queries,
                        settings=settings_frame(some),
                        names=[name],
                        progress=progress,
                        executor=self.context.executor,
                    )
                    for cell in some:
                        yield AttackCell(number, cell), RANKS.check(cell.rows_of(ranks))

    def sent_by(self, cells: Sequence[Cell]) -> pd.DataFrame:
        """Return the obfuscated queries of several cells of one seed."""
        return pd.concat([self.obfuscate.sent(cell) for cell in cells], ignore_index=True)


def state_hash(attacker: Attacker) -> str:
    """Return a hash over the state of an attacker that was given as an object; a spec says all about the others.

    An attacker may state its own ``fingerprint``. Where its state cannot be hashed, nobody can tell whether it has
    changed, and its ranks are good for one run.
    """
    if attacker.written is not None:
        return ""
    stated = getattr(attacker, "fingerprint", None)
    return stated if isinstance(stated, str) and stated else key_of(state_of(attacker) or secrets.token_hex(16))


def settings_frame(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return the settings of cells, one row each."""
    return pd.DataFrame([cell.setting.key for cell in cells], columns=list(SETTING))


def ranking_title(name: str, panel: Panel) -> str:
    """Return what the stage is called; the attacker is named where there are several."""
    return "ranking the log" if len(panel.names) == 1 else f"ranking the log ({name})"
