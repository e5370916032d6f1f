"""Rank the log after fewer variants than were sent, at a few settings of every mechanism.

A curve at every setting would cost several times the attack itself. Chosen are three settings of a mechanism at most,
spread evenly over its values, under the first seed and, in a sweep, at the largest N; no reference, and no setting
whose variants share one budget: a part of them is not what it sends at a smaller N.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.attackers.growth import GROWTH, growth_ranks, sizes_below
from quipukit.experiment.cells import AttackCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.settings import Setting, shares_budget

if TYPE_CHECKING:
    from quipukit.experiment.stages.attack import Attack

_WHOLE = ("reference", "cover")  # a part of a fixed group is not what would have been sent
MOST_SETTINGS = 3  # of a mechanism


class Growth(Stage[AttackCell]):
    """Caches `AttackReport.growth`: the ranks after 1, 2, 5, ... variants, and after all."""

    name = "growth"

    def __init__(self, context: Context, attack: "Attack") -> None:
        super().__init__(context)
        self.attack = attack

    @property
    def cells(self) -> Sequence[AttackCell]:
        if not self.plan.options.growth:
            return []
        chosen = set(chosen_settings(self.plan.settings, max(self.plan.ns) if len(self.plan.ns) > 1 else None))
        first = self.plan.seeds[0]
        return [one for one in self.attack.cells if one.cell.seed == first and one.cell.setting in chosen]

    def sizes(self, cell: AttackCell) -> list[int]:
        """Return the numbers of variants after which the log is ranked again."""
        return sizes_below(cell.cell.setting.n)

    def depends_on(self, cell: AttackCell) -> Any:
        return [self.attack.key(cell), self.sizes(cell)]

    def compute(self, missing: Sequence[AttackCell]) -> Iterator[tuple[AttackCell, pd.DataFrame]]:
        panel = self.attack.panel
        for batch in self.attack.batches(missing, "ranking the log after fewer variants"):
            names = [panel.names[number] for number in batch.attackers]
            most = max((AttackCell(0, cell) for cell in batch.cells), key=lambda one: one.cell.setting.n)
            fewer = growth_ranks(
                panel,
                self.attack.sent_by(batch.cells),
                self.plan.queries,
                self.sizes(most),
                settings=batch.settings,
                names=names,
                progress=batch.progress,
                executor=self.context.executor,
            )
            for number, name in zip(batch.attackers, names, strict=True):
                own = fewer[fewer["attacker"] == name]
                for cell in batch.cells:
                    attacked = AttackCell(number, cell)
                    rows = cell.rows_of(own)
                    whole = self.attack.load(attacked).assign(seen=cell.setting.n)
                    parts = [rows[rows["seen"] < cell.setting.n], whole]
                    yield attacked, GROWTH.check(pd.concat(parts, ignore_index=True))


def chosen_settings(settings: Sequence[Setting], n: int | None = None) -> list[Setting]:
    """Return up to three settings of every mechanism, with at least two variants; those with n, where it is given.

    Of five values or more, those at the quartiles: neither the most nor the least private.

    >>> [one.value for one in chosen_settings([Setting("CMP", "epsilon", e, 50) for e in (1, 5, 10, 20, 50)])]
    [5, 10, 20]
    """

    def alike(setting: Setting) -> bool:
        return setting.strategy not in _WHOLE and not shares_budget(setting.mechanism) and setting.n > 1

    return spread([setting for setting in settings if alike(setting) and n in (None, setting.n)])


def spread(settings: Sequence[Setting]) -> list[Setting]:
    """Return up to three settings of every mechanism, spread evenly over its values."""
    by_mechanism: dict[str, list[Setting]] = {}
    for setting in settings:
        by_mechanism.setdefault(setting.mechanism, []).append(setting)
    chosen: list[Setting] = []
    for own in by_mechanism.values():
        ordered, last = sorted(own, key=lambda one: one.value), len(own) - 1
        shares = (0, 2, 4) if len(own) <= MOST_SETTINGS + 1 else (1, 2, 3)
        chosen += own if len(own) <= MOST_SETTINGS else [ordered[round(last * share / 4)] for share in shares]
    return chosen
