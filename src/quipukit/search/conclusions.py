"""What an engine could conclude from what it saw: the best guesses of attackers that know a public query log."""

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from quipukit.attackers.base import Attacker, KnownLog, KnownSetting, Sent
from quipukit.attackers.log import QueryLog, read_log
from quipukit.attackers.registry import attacker
from quipukit.mechanisms.cover import Cover
from quipukit.seeds import fresh

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

# The strongest of those that answer soon; QuIA and others encode the log first, which takes minutes.
QUICK = ("Words", "Lexical", "Positional")
INFORMED = "Bayes"  # knows the mechanism, too; soon ready for covers, in half a minute or more for noise
GUESSES = 10

_lock = threading.Lock()


def conclusions(
    texts: Sequence[str],
    log: "str | QueryLog" = "wordnet",
    mechanism: "Mechanism | None" = None,
    *,
    attackers: Sequence[str] | None = None,
    guesses: int = GUESSES,
) -> list[tuple[str, list[str]]]:
    """Return the best guesses of each attacker for the query behind some texts, the best first.

    ``log`` is what the attackers know, a name or a `QueryLog`; ``mechanism``, where it is given, is known to `Bayes`,
    which by default attacks covers alone: for noise it has to learn the mechanism's law first. Guesses that an attacker
    cannot tell apart come in a random order. Nothing here sees the query itself.
    """
    if not texts:
        return []
    known = _known(log) if isinstance(log, str) else _of(log)
    usual = [INFORMED, *QUICK] if isinstance(mechanism, Cover) else QUICK
    names = list(usual if attackers is None else attackers)
    setting = None
    if mechanism is not None:
        setting = KnownSetting(mechanism.name, mechanism.parameter, mechanism.value, mechanism)
    found = []
    for name in names:
        with _lock:  # attackers learn and score one at a time
            guesser = _prepared(name, known)
            scores = guesser.scores(Sent(tuple(texts), setting if guesser.knows != "log" else None))
        # Of level scores the order is random, or the first of the log would look like a conclusion.
        order = np.lexsort((fresh().permutation(len(scores)), -scores))[:guesses]
        found.append((name, [known.texts[int(row)] for row in order if np.isfinite(scores[row])]))
    return found


@functools.lru_cache(maxsize=4)
def _known(name: str) -> KnownLog:
    return _of(read_log(name))


@functools.lru_cache(maxsize=4)
def _of(log: QueryLog) -> KnownLog:
    order = sorted(range(len(log)), key=lambda row: log.texts[row])
    return KnownLog([log.texts[row] for row in order], log.counts[np.array(order, np.int64)])


@functools.lru_cache(maxsize=16)
def _prepared(name: str, log: KnownLog) -> Attacker:
    guesser = attacker(name)
    guesser.prepare(log)
    return guesser
