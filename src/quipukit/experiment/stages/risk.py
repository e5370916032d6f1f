"""Measure what each persona gains from an attacker's ranking."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.experiment.cells import AttackCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.measures.risk import risk

if TYPE_CHECKING:
    from quipukit.experiment.stages.attack import Attack


class Risk(Stage[AttackCell]):
    """Caches `quipukit.risk`: P@1, R@k and RR of every query."""

    name = "risk"

    def __init__(self, context: Context, attack: "Attack") -> None:
        super().__init__(context)
        self.attack = attack

    @property
    def cells(self) -> Sequence[AttackCell]:
        return self.attack.cells

    def depends_on(self, cell: AttackCell) -> Any:
        return [self.attack.digest(cell), self.plan.options.k]

    def compute(self, missing: Sequence[AttackCell]) -> Iterator[tuple[AttackCell, pd.DataFrame]]:
        with self.context.timer.stage("measuring risk") as progress:
            for number, cell in enumerate(missing, 1):
                yield cell, risk(self.attack.load(cell), self.plan.options.k)
                progress(number, len(missing))
