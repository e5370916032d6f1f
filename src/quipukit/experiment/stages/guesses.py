"""Keep each attacker's best guesses for the example queries, under the first seed."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.experiment.cells import AttackCell, Cell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.frames import SETTING
from quipukit.progress import part_of

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
        to_guess: dict[Cell, list[int]] = {}
        for one in missing:
            to_guess.setdefault(one.cell, []).append(one.attacker)
        # All attackers together, which share what they have found.
        parts = {cell: (self.plan.batch(cell), tuple(numbers)) for cell, numbers in to_guess.items()}
        with self.context.timer.stage("guessing the examples", "queries") as progress:
            done = 0
            for part in dict.fromkeys(parts.values()):
                cells = [cell for cell in to_guess if parts[cell] == part]
                sent = self.attack.sent_by(cells, set(shown["qid"]))
                names = [panel.names[number] for number in part[1]]
                own = part_of(progress, done * len(shown), len(cells) * len(shown), len(to_guess) * len(shown))
                done += len(cells)
                guesses = panel.guesses(sent, shown, _TOP, names, self.context.executor, own)
                for number, name in zip(part[1], names, strict=True):
                    guessed = guesses[guesses["attacker"] == name]
                    for cell in cells:
                        yield AttackCell(number, cell), cell.rows_of(guessed)[_COLUMNS]
