"""The best guesses of attackers that score a whole log: what several of them need is computed once."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.ahead import expect_next
from quipukit.attackers.base import Attacker, Floats, Sent
from quipukit.attackers.log import QueryLog
from quipukit.attackers.recent import at_once
from quipukit.attackers.task import GROUP, Task
from quipukit.attackers.wordspace import Slots
from quipukit.frames import SETTING
from quipukit.progress import Progress

Rows = NDArray[np.int64]
Best = tuple[Rows, Floats]  # the rows of the highest scores and these scores, a line for each set of texts


def best_of_several(
    attackers: Sequence[tuple[Attacker, Sequence[Sent]]],
    size: int,
    best: Callable[[Attacker, Sequence[Sent]], Best],
    progress: Progress | None,
) -> list[Best]:
    """Return what each attacker guesses, given what each sees of the same sets of texts.

    A set that comes again is scored once. One attacker after the other scores a few sets, fewer where the ``size`` of
    the log is larger: what one has found is still at hand for the next.
    """
    places: dict[tuple[Sent, ...], int] = {}
    which = [places.setdefault(seen, len(places)) for seen in zip(*(sent for _, sent in attackers), strict=True)]
    # Sets with the same number of words side by side: such are compared with the log together.
    distinct = sorted(places, key=lambda seen: Slots.of(seen[0]).length)
    again = np.argsort([places[seen] for seen in distinct])[which]
    seen_by = [(attacker, [seen[number] for seen in distinct]) for number, (attacker, _) in enumerate(attackers)]
    found: list[list[Best]] = [[] for _ in attackers]
    step = at_once(size)
    for start in range(0, len(distinct), step):
        expect_next(seen_by, start, step, size)
        for number, (attacker, sent) in enumerate(seen_by):
            some = sent[start : start + step]
            found[number].append(best(attacker, some))
            if progress:
                done = start * len(attackers) + (number + 1) * len(some)
                progress(done, len(distinct) * len(attackers))
    return [_joined(parts, again) for parts in found]


def _joined(parts: Sequence[Best], again: Rows) -> Best:
    rows, scores = (np.concatenate(side) for side in zip(*parts, strict=True))
    return rows[again], scores[again]


def guess_table(attacker: Attacker, task: Task, log: QueryLog, rows: Rows, scores: Floats) -> pd.DataFrame:
    """Return guesses as a table: setting, attacker, qid, guess (from 1), query, similarity (the score), hit."""
    count = rows.shape[1]
    table = task.groups.loc[task.groups.index.repeat(count), list(GROUP)].reset_index(drop=True)
    table.insert(len(SETTING), "attacker", repr(attacker.spec))
    return table.assign(
        guess=np.tile(np.arange(1, count + 1), len(rows)),
        query=[log.texts[row] for row in rows.ravel().tolist()],
        similarity=scores.ravel(),
        hit=rows.ravel() == np.repeat(task.targets, count),
    )
