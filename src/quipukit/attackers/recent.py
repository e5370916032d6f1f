"""The scores of the last few sets of texts: attackers that ask others need not compute what those have just found."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from quipukit.attackers.base import Floats, Sent
from quipukit.attackers.scratch import stored
from quipukit.attackers.tokens import LogTokens

# The sets that the harness hands to one attacker after the other, where a log is small enough to keep their scores.
TOGETHER = 32
_MOST_BYTES = 64_000_000


def at_once(rows: int) -> int:
    """Return how many sets of texts to score before the next attacker has its turn, with a log of so many rows."""
    return max(1, min(TOGETHER, _MOST_BYTES // (8 * max(1, rows))))


class Recent:
    """Scores that depend on the texts alone, of one kind of attacker, for one log."""

    @classmethod
    def of(cls, tokens: LogTokens, who: Hashable) -> "Recent":
        """Return what attackers with one log share under a name."""
        return tokens.derived(("recent", who), lambda: cls(len(tokens)))

    def __init__(self, rows: int) -> None:
        """Keep as many as are scored at once."""
        self._most = at_once(rows)
        self._held: OrderedDict[tuple[str, ...], Floats] = OrderedDict()

    def scores(self, batch: Sequence[Sent], compute: Callable[[Sequence[Sent]], Iterable[Floats]]) -> Iterator[Floats]:
        """Iterate over the scores for each, computing those that are not at hand; nobody may change them."""
        known = {sent.texts: self._held[sent.texts] for sent in batch if sent.texts in self._held}
        fresh = iter(compute([sent for sent in batch if sent.texts not in known]))
        for sent in batch:
            if sent.texts in known:
                yield known[sent.texts]
                continue
            scores = stored(next(fresh))
            scores.flags.writeable = False
            self._held[sent.texts] = scores
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            yield scores
