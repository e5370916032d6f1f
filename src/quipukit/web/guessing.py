"""What attackers guess from what was sent: a public log, a few quick and strong attackers, all in memory."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.panel import Panel
from quipukit.frames import SETTING
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cover import Cover
from quipukit.vectors.store import Vectors

# Those of the panel that need no encoder: an answer within a second, and nearly as strong as all of them together.
ATTACKERS = ("Positional", "Words", "Lexical")
# Knows the mechanism, too: the strongest there is against covers. For noise it would have to learn for half a minute.
INFORMED = "Bayes"
LOG = "wordnet"
LOG_SIZE = 5_000
TOP = 10
_QID = "q"


@dataclass(frozen=True)
class Guesses:
    """The best guesses of one attacker; ``rank`` is that of the original (None where nothing was sent)."""

    attacker: str
    texts: tuple[str, ...]
    hits: tuple[bool, ...]
    rank: float | None

    @property
    def found(self) -> bool:
        """Return whether the original is among the guesses."""
        return any(self.hits)


class Guessers:
    """Attackers that know some thousand public queries and, so that it can be found at all, the one that was asked."""

    def __init__(self, vectors: Vectors, log: QueryLog | None = None) -> None:
        self._vectors, self._log = vectors, log
        self._lock = threading.Lock()  # one attack at a time: it uses all it can get

    @functools.cached_property
    def log(self) -> QueryLog:
        """Return the public log: the same queries at every start."""
        if self._log is not None:
            return self._log
        return read_log(LOG).sample(LOG_SIZE, np.random.default_rng(0))

    def guess(
        self, query: str, texts: Sequence[str], mechanism: Mechanism | None = None, top: int = TOP
    ) -> list[Guesses]:
        """Return what each attacker makes of the texts; one that knows the mechanism is among them if it is a cover."""
        if not texts:
            return [Guesses(name, (), (), None) for name in ATTACKERS]
        with self._lock:
            found = _guesses(self._panel(query), query, _sent(texts, mechanism), top)
            if isinstance(mechanism, Cover):
                informed = Panel([INFORMED], self._log_with(query), vectors=self._vectors, mechanisms=[mechanism])
                found = [*_guesses(informed, query, _sent(texts, mechanism), top), *found]
        return found

    def _log_with(self, query: str) -> QueryLog:
        return self.log.completed([query])

    def _panel(self, query: str) -> Panel:
        if self.log.row(query) >= 0:
            return self._public_panel
        return Panel(ATTACKERS, self._log_with(query), vectors=self._vectors)

    @functools.cached_property
    def _public_panel(self) -> Panel:
        return Panel(ATTACKERS, self.log, vectors=self._vectors)


def _sent(texts: Sequence[str], mechanism: Mechanism | None) -> pd.DataFrame:
    setting = ("sent", "", 0.0) if mechanism is None else (mechanism.spec.family, mechanism.parameter, mechanism.value)
    table = {"qid": _QID, "variant": range(len(texts)), "query": list(texts)}
    return pd.DataFrame({**table, **dict(zip(SETTING, setting, strict=True))})


def _guesses(panel: Panel, query: str, sent: pd.DataFrame, top: int) -> list[Guesses]:
    queries = pd.DataFrame({"qid": [_QID], "query": [query]})
    guesses = panel.guesses(sent, queries, top)
    ranks = panel.ranks(sent, queries).set_index("attacker")["log_rank"]
    return [
        Guesses(str(name), tuple(rows["query"]), tuple(bool(hit) for hit in rows["hit"]), float(ranks[name]))
        for name, rows in guesses.groupby("attacker", sort=False)
    ]
