"""Let every attacker rank the query log for every cell."""

import functools
import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.attackers.base import Attacker
from quipukit.attackers.panel import Panel
from quipukit.attackers.task import Task
from quipukit.experiment.artifacts import key_of
from quipukit.experiment.cells import AttackCell, Cell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.fingerprints import state_of
from quipukit.frames import RANKS, SETTING
from quipukit.progress import Progress, part_of
from quipukit.registry import installed_class
from quipukit.source_hash import code_key

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate


_GUESSED = ["qid", "query"]
_SETS = 256  # of texts, that attackers who score the log get at a time; more where many workers do it
_SETS_PER_SLOT = 64


class Attack(Stage[AttackCell]):
    """Caches `quipukit.attack`: the rank of every original, as one attacker sees it, and the first of its guesses."""

    name = "attack"
    tables = ("first_guesses", "ranks")

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

    def compute(self, missing: Sequence[AttackCell]) -> Iterator[tuple[AttackCell, tuple[pd.DataFrame, pd.DataFrame]]]:
        for batch in self.batches(missing):
            yield from self._ranked(batch)

    def first_guesses(self, cell: AttackCell) -> dict[str, str]:
        """Return by query what an attacker would guess first; a query for which nothing was sent has no guess."""
        guesses = self.load(cell, "first_guesses")
        return dict(zip(guesses["qid"], guesses["query"], strict=True))

    def batches(self, missing: Sequence[AttackCell], title: str = "ranking the log") -> "Iterator[Batch]":
        """Iterate over the work: cells and attackers that are ranked together, with all encoded that they need."""
        timer, panel = self.context.timer, self.panel
        to_score: dict[Cell, list[int]] = {}
        rows = len(self.plan.log)
        for number, name in enumerate(panel.names):
            mine = [cell.cell for cell in missing if cell.attacker == number]
            if not mine:
                continue
            attacker = panel.attackers[number]
            if panel.is_spread(attacker, self.context.executor):
                for cell in mine:
                    to_score.setdefault(cell, []).append(number)
                continue
            encodes = getattr(attacker, "encoder", None) is not None
            with timer.stage("encoding the log" if encodes else f"learning the log ({name})", "queries") as progress:
                panel.prepare(progress, [name])
            if encodes:
                self._encode(mine, name)
            if attacker.log_vectors is None and attacker.knows == "log":
                for cell in mine:
                    to_score.setdefault(cell, []).append(number)
                continue
            # One pass over the log for each batch, and what several settings of a mechanism need is computed once.
            batches = self.plan.batches(mine)
            with timer.stage(_named(title, [number], panel), "queries") as progress:
                for place, some in enumerate(batches):
                    part = part_of(progress, place * rows, rows, len(batches) * rows) if batches[1:] else progress
                    yield Batch(some, (number,), part)
        # A few cells at a time: attackers share what they have found, sets of texts of one length are scored together,
        # and little is lost on a stop.
        count = len(self.plan.queries)
        few = max(1, max(_SETS, _SETS_PER_SLOT * self.context.executor.slots) // max(1, count))
        for numbers in dict.fromkeys(map(tuple, to_score.values())):
            cells = [cell for cell, chosen in to_score.items() if tuple(chosen) == numbers]
            batches = [batch[i : i + few] for batch in self.plan.batches(cells) for i in range(0, len(batch), few)]
            done = 0
            with timer.stage(_named(title, numbers, panel), "queries") as progress:
                for some in batches:
                    part = part_of(progress, done * count, len(some) * count, len(cells) * count)
                    done += len(some)
                    yield Batch(some, numbers, part)

    def _encode(self, cells: Sequence[Cell], name: str) -> None:
        """Encode what was sent for cells ahead of time."""
        batches = self.plan.batches(cells)
        with self.context.timer.stage("encoding obfuscated queries", "queries") as progress:
            for number, some in enumerate(batches):
                texts = dict.fromkeys(text for cell in some for text in self.obfuscate.sent(cell)["query"])
                count = len(texts)
                part = progress if len(batches) == 1 else part_of(progress, number * count, count, len(batches) * count)
                self.panel.encode(list(texts), part, [name])

    def _ranked(self, batch: "Batch") -> Iterator[tuple[AttackCell, tuple[pd.DataFrame, pd.DataFrame]]]:
        """Iterate over the guesses and ranks of every cell, as each attacker of a batch sees it."""
        names = [self.panel.names[number] for number in batch.attackers]
        task = Task.of(self.sent_by(batch.cells), self.plan.queries, self.plan.log, batch.settings)
        ranks, guesses = self.panel.ranks_and_guesses(task, names, batch.progress, self.context.executor)
        for number, name in zip(batch.attackers, names, strict=True):
            own, guessed = ranks[ranks["attacker"] == name], guesses[guesses["attacker"] == name]
            for cell in batch.cells:
                yield AttackCell(number, cell), (cell.rows_of(guessed)[_GUESSED], RANKS.check(cell.rows_of(own)))

    def sent_by(self, cells: Sequence[Cell], qids: Collection[str] | None = None) -> pd.DataFrame:
        """Return the obfuscated queries of several cells of one seed: of all queries, or of some."""
        sent = (self.obfuscate.sent(cell) for cell in cells)
        rows = [one if qids is None else one[one["qid"].isin(qids)] for one in sent]
        return pd.concat(rows, ignore_index=True)


def state_hash(attacker: Attacker) -> str:
    """Return a hash over the state of an attacker that was given as an object; a spec says all about the others.

    An attacker may state its own ``fingerprint``. Where its state cannot be hashed, nobody can tell whether it has
    changed, and its ranks are good for one run.
    """
    if attacker.written is not None:
        return ""
    stated = getattr(attacker, "fingerprint", None)
    return stated if isinstance(stated, str) and stated else key_of(state_of(attacker) or secrets.token_hex(16))


@dataclass(frozen=True, eq=False)
class Batch:
    """Cells of one seed, attacked together by some attackers (by their numbers)."""

    cells: Sequence[Cell]
    attackers: Sequence[int]
    progress: Progress | None

    @property
    def settings(self) -> pd.DataFrame:
        """Return the settings, one row each."""
        return pd.DataFrame([cell.setting.key for cell in self.cells], columns=list(SETTING))


def _named(title: str, numbers: Sequence[int], panel: Panel) -> str:
    """Return what the stage is called; attackers are named, or counted, where there are several."""
    if len(panel.names) == 1:
        return title
    named = panel.names[numbers[0]] if len(numbers) == 1 else f"{len(numbers)} attackers"
    return f"{title} ({named})"
