"""What an engine could conclude from what it saw: the best guesses of attackers that know a public query log.

The terminal, the page and the API all ask here.
"""

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker, Floats, KnownLog, KnownSetting, Sent
from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.registry import attacker
from quipukit.mechanisms.cover import Cover
from quipukit.seeds import fresh

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

LOG = "wordnet"
# The strongest of those that answer soon; QuIA and others encode the log first, which takes minutes.
QUICK = ("Words", "Lexical", "Positional")
INFORMED = "Bayes"  # knows the mechanism, too; soon ready for covers, in half a minute or more for noise
GUESSES = 10

# To these a query's score is a matter of the query and of what was sent: the rest of the log has no part in it.
_ROW_BY_ROW = ("Words", "Positional")
_lock = threading.Lock()


@dataclass(frozen=True)
class Conclusion:
    """The best guesses of one attacker, the best first.

    ``hits`` marks the true one, and ``rank`` is its place among all that the attacker knows, in the mean over ties
    (from 1); None where the query was not given, or nothing was sent.
    """

    attacker: str
    guesses: tuple[str, ...]
    hits: tuple[bool, ...] = ()
    rank: float | None = None

    @property
    def found(self) -> bool:
        """Return whether the original is among the guesses."""
        return any(self.hits)


@dataclass(frozen=True)
class Conclusions:
    """What attackers conclude that know ``log_size`` public queries; ``added`` says that the query is a further one."""

    log_size: int
    added: bool
    attackers: tuple[Conclusion, ...]


def conclusions(
    texts: Sequence[str],
    log: "str | QueryLog" = LOG,
    mechanism: "Mechanism | None" = None,
    *,
    query: str | None = None,
    attackers: Sequence[str] | None = None,
    guesses: int = GUESSES,
) -> Conclusions:
    """Return the best guesses of each attacker for the query behind some texts.

    ``log`` is what the attackers know, a name or a `QueryLog`, as a whole; ``mechanism``, where it is given, is known
    to `Bayes`, which by default attacks covers alone: for noise it has to learn the mechanism's law first. With
    ``query`` the true one is marked; where the log lacks it, it is added, or there would be nothing to find. Nothing
    of it is kept. Guesses that an attacker cannot tell apart come in a random order.
    """
    usual = [INFORMED, *QUICK] if isinstance(mechanism, Cover) else QUICK
    names = list(usual if attackers is None else attackers)
    with _lock:  # attackers learn and score one at a time: each uses all it can get
        public = _named(log) if isinstance(log, str) else _public(log)
        row = None if query is None else public.row(query)
        added = query if row == len(public.known) else None
        size = len(public.known)
        if not texts:
            return Conclusions(size, added is not None, tuple(Conclusion(name, ()) for name in names))
        setting = None
        if mechanism is not None:
            setting = KnownSetting(mechanism.name, mechanism.parameter, mechanism.value, mechanism)
        concluded = []
        for name in names:
            scores = public.scores(name, Sent(tuple(texts)), setting, added)
            concluded.append(_concluded(name, scores, public.known.texts, row, query, guesses))
    return Conclusions(size, added is not None, tuple(concluded))


def _concluded(
    name: str, scores: Floats, texts: Sequence[str], row: int | None, query: str | None, guesses: int
) -> Conclusion:
    # Of level scores the order is random, or the first of the log would look like a conclusion.
    order = np.lexsort((fresh().permutation(len(scores)), -scores))[:guesses]
    best = [int(place) for place in order if np.isfinite(scores[place])]
    named = tuple(texts[place] if place < len(texts) else str(query) for place in best)
    if row is None:
        return Conclusion(name, named)
    better, level = int((scores > scores[row]).sum()), int((scores == scores[row]).sum())
    return Conclusion(name, named, tuple(place == row for place in best), better + (level + 1) / 2)


class _Public:
    """A public log, and the attackers that have learned it."""

    def __init__(self, log: QueryLog) -> None:
        order = sorted(range(len(log)), key=lambda row: log.texts[row])
        self._log = log
        self._place = np.empty(len(log), np.int64)
        self._place[order] = np.arange(len(log))
        self.known = KnownLog([log.texts[row] for row in order], log.counts[np.array(order, np.int64)])
        self._prepared: dict[str, Attacker] = {}

    def row(self, query: str) -> int:
        """Return where a query stands; one that is not there would come last."""
        found = self._log.row(query)
        return len(self.known) if found < 0 else int(self._place[found])

    def scores(self, name: str, sent: Sent, setting: KnownSetting | None, added: str | None) -> Floats:
        """Return the scores of all queries, and of the one that is added, if there is one."""
        if added is None:
            return _asked(self._learned(name), sent, setting)
        if name in _ROW_BY_ROW:
            # The log is long, and to learn all of it again for one more row takes seconds.
            own = _prepared(name, KnownLog([added], self._rarest))
            return np.append(_asked(self._learned(name), sent, setting), _asked(own, sent, setting))
        return _asked(_prepared(name, self._with(added)), sent, setting)

    def _learned(self, name: str) -> Attacker:
        if name not in self._prepared:
            self._prepared[name] = _prepared(name, self.known)
        return self._prepared[name]

    def _with(self, added: str) -> KnownLog:
        counts = np.append(self.known.counts, self._rarest)
        return KnownLog([*self.known.texts, added], counts, {"tokens": self.known.tokens.with_row(added)})

    @functools.cached_property
    def _rarest(self) -> NDArray[np.int64]:
        """Return the count of a query that is added: that of the rarest, so that it tells nothing."""
        return np.array([max(1, int(self.known.counts.min()))], np.int64)


def _asked(guesser: Attacker, sent: Sent, setting: KnownSetting | None) -> Floats:
    return guesser.scores(sent if guesser.knows == "log" else Sent(sent.texts, setting))


def _prepared(name: str, log: KnownLog) -> Attacker:
    guesser = attacker(name)
    guesser.prepare(log)
    return guesser


@functools.lru_cache(maxsize=2)
def _named(name: str) -> _Public:
    return _Public(read_log(name))


@functools.lru_cache(maxsize=2)
def _public(log: QueryLog) -> _Public:
    return _Public(log)
