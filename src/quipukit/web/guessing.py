"""What attackers guess from what was sent: a public log, a few quick and strong attackers, all in memory."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.panel import Panel
from quipukit.vectors.store import Vectors

# Those of the panel that need no encoder: an answer within a second, and nearly as strong as all of them together.
ATTACKERS = ("Positional", "Words", "Lexical")
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

    def guess(self, query: str, texts: Sequence[str], top: int = TOP) -> list[Guesses]:
        """Return what each attacker makes of the texts."""
        sent = pd.DataFrame(
            {
                "qid": _QID,
                "variant": range(len(texts)),
                "query": list(texts),
                "mechanism": "sent",
                "parameter": "",
                "value": 0.0,
            }
        )
        queries = pd.DataFrame({"qid": [_QID], "query": [query]})
        if not len(sent):
            return [Guesses(name, (), (), None) for name in ATTACKERS]
        with self._lock:
            panel = self._panel(query)
            guesses = panel.guesses(sent, queries, top)
            ranks = panel.ranks(sent, queries).set_index("attacker")["log_rank"]
        return [
            Guesses(name, tuple(rows["query"]), tuple(bool(hit) for hit in rows["hit"]), float(ranks[name]))
            for name, rows in guesses.groupby("attacker", sort=False)
        ]

    def _panel(self, query: str) -> Panel:
        if self.log.row(query) >= 0:
            return self._public_panel
        return Panel(ATTACKERS, self.log.completed([query]), vectors=self._vectors)

    @functools.cached_property
    def _public_panel(self) -> Panel:
        return Panel(ATTACKERS, self.log, vectors=self._vectors)
