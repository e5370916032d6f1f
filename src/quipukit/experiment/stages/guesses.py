"""Keep each attacker's best guesses for the example queries, under the first seed."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.experiment.cells import AttackCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.frames import SETTING

if TYPE_CHECKING:
    from quipukit.experiment.stages.attack import Attack

_TOP = 5
_COLUMNS = [*SETTING, "attacker", "qid", "guess", "query", "similarity", "hit"]


class Guesses(Stage[AttackCell]):
    """Caches the first entries of the ranked log, for the report."""

    name = "guesses"

    def __init__(self, context: Context, attack: "Attack") -> None:
        super().__init__(context)
        self.attack = attack

    @property
    def cells(self) -> Sequence[AttackCell]:
        return [cell for cell in self.attack.cells if cell.cell.seed == self.plan.seeds[0]]

    def depends_on(self, cell: AttackCell) -> Any:
        return [self.attack.key(cell), self.plan.examples]

    def compute(self, missing: Sequence[AttackCell]) -> Iterator[tuple[AttackCell, pd.DataFrame]]:
        queries, panel = self.plan.queries, self.attack.panel
        shown = queries[queries["qid"].isin(self.plan.examples)]
        with self.context.timer.stage("guessing the examples"):
            batches = {cell: (cell.attacker, self.plan.batch(cell.cell)) for cell in missing}
            for part in dict.fromkeys(batches.values()):
                some = [cell for cell in missing if batches[cell] == part]
                sent = self.attack.sent_by([cell.cell for cell in some], set(shown["qid"]))
                guesses = panel.guesses(sent, shown, _TOP, [panel.names[part[0]]], self.context.executor)
                for cell in some:
                    yield cell, cell.cell.rows_of(guesses)[_COLUMNS]
