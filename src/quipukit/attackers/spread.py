"""Scoring on the workers of an executor: each learns the log once, and gets sets of texts to score.

For attackers that know the log alone, and that a worker can make from their name: it needs nothing but the log and
their resources, which every worker loads once.
"""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, KnownLog, Sent
from quipukit.attackers.checks import check_log_vectors
from quipukit.attackers.found import Found
from quipukit.attackers.recent import at_once
from quipukit.attackers.scorer import Scorer
from quipukit.executors.base import Executor, slices
from quipukit.executors.shared import Shared
from quipukit.plugins import naming
from quipukit.progress import Progress

Rows = NDArray[np.int64]

MOST_ROWS = 1_000_000  # of a log that every worker learns: that takes it a minute, and as much memory as it has
_LEAST_SETS, _MOST_SETS = 8, 64  # that a worker gets at a time: eight are compared with the log together


def is_spread(attacker: Attacker, rows: int, executor: Executor | None) -> bool:
    """Return whether the workers of an executor score a log of so many rows for an attacker."""
    if executor is None or executor.in_process or rows > MOST_ROWS:
        return False
    scores_alone = (
        type(attacker).log_vectors is Attacker.log_vectors and type(attacker).sent_vectors is Attacker.sent_vectors
    )
    # One that was given as an object may hold what cannot travel.
    by_name = attacker.written is not None and getattr(attacker, "encoder", None) is None
    return attacker.knows == "log" and scores_alone and by_name


class SharedLog(Shared):
    """A log as attackers get it, and those that have learned it in this process."""

    kind = "query log"

    def __init__(self, texts: Sequence[str], counts: Rows) -> None:
        self._texts, self._counts = texts, counts
        self._lock = threading.Lock()
        self._learned: dict[str, tuple[list[Attacker], Scorer]] = {}
        total = hashlib.sha256(np.ascontiguousarray(counts).tobytes())
        for text in texts:
            total.update(text.encode("utf-8", "surrogatepass") + b"\n")
        self.fingerprint = total.hexdigest()

    def __reduce__(self) -> "tuple[type[SharedLog], tuple[list[str], Rows]]":
        return SharedLog, (list(self._texts), np.asarray(self._counts))

    def learned(self, attackers: Sequence[Attacker]) -> tuple[list[Attacker], Scorer]:
        """Return attackers that know the log, and what counts for them; they learn it at first."""
        names = repr([attacker.spec for attacker in attackers])
        with self._lock:
            if names not in self._learned:
                log = KnownLog(self._texts, self._counts)
                for attacker in attackers:
                    with naming("attacker", attacker):
                        attacker.prepare(log.copied())
                    check_log_vectors(attacker)
                size = len(self._texts)
                self._learned[names] = list(attackers), Scorer(size, lots(size), np.arange(size))
            return self._learned[names]


@dataclass(frozen=True, eq=False)
class _Sets:
    """Some sets of texts, as each attacker sees them, and where their targets are in the attackers' log."""

    log: SharedLog
    attackers: Sequence[Attacker]
    sent: Sequence[Sequence[Sent]]
    places: Sequence[int]
    guess: bool


def spread(
    executor: Executor,
    log: SharedLog,
    attackers: Sequence[tuple[int, Attacker, Sequence[Sent]]],
    places: Sequence[int],
    rows: Rows,
    found: Sequence[Found],
    progress: Progress | None,
    guess: bool,
) -> None:
    """Count as `Scorer.count` does; ``rows`` says where each row of the attackers' log stands in that of the caller."""
    parts = slices(len(places), executor.parts(), _LEAST_SETS, _MOST_SETS) if places else []
    own = [attacker for _, attacker, _ in attackers]
    items = (_Sets(log, own, [sent[part] for _, _, sent in attackers], places[part], guess) for part in parts)
    done = 0
    with executor as workers:
        for number, counted in workers.map(_count, items):
            part = parts[number]
            for (place, _, _), (better, tied, first) in zip(attackers, counted, strict=True):
                one = found[place]
                one.better[part], one.tied[part] = better, tied
                one.first[one.there[part]] = rows[first] if guess else -1
            done += part.stop - part.start
            if progress:
                progress(done * len(attackers), len(places) * len(attackers))


def lots(size: int) -> Rows:
    """Return for every row of the attackers' log when it is its turn among rows of equal scores."""
    return np.random.default_rng(0).permutation(size)


def _count(item: _Sets) -> list[tuple[Rows, Rows, Rows]]:
    attackers, scorer = item.log.learned(item.attackers)
    asked = [(number, own, sent) for number, (own, sent) in enumerate(zip(attackers, item.sent, strict=True))]
    count = len(item.places)
    found = [Found.none(np.arange(count), count) for _ in asked]
    scorer.count(asked, item.places, at_once(scorer.size), found, None, item.guess)
    return [(one.better, one.tied, one.first) for one in found]
