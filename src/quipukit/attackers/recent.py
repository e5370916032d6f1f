"""The scores of the last few sets of texts: attackers that ask others need not compute what those have just found."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from quipukit.attackers.base import Floats, Sent
from quipukit.attackers.ties import will_not_change
from quipukit.attackers.tokens import LogTokens

# The sets that the harness hands to one attacker after the other, where a log is small enough to keep their scores.
TOGETHER = 32
_MOST_BYTES = 320_000_000  # of their scores
_FEWEST = 4
_HELD_BYTES = 80_000_000


def at_once(rows: int) -> int:
    """Return how many sets of texts to score before the next attacker has its turn, with a log of so many rows."""
    return max(_FEWEST, min(TOGETHER, _MOST_BYTES // (8 * max(1, rows))))


def held(rows: int) -> int:
    """Return how many sets to score before their scores are counted and dropped: two at least, for two threads."""
    return max(2, min(TOGETHER, _HELD_BYTES // (8 * max(1, rows))))


class Recent:
    """Scores that depend on the texts alone, of one kind of attacker, for one log."""

    @classmethod
    def of(cls, tokens: LogTokens, who: Hashable, most: int | None = None) -> "Recent":
        """Return what attackers with one log share under a name; ``most`` sets, or as many as are scored at once."""
        return tokens.derived(("recent", who), lambda: cls(at_once(len(tokens)) if most is None else most))

    def __init__(self, most: int) -> None:
        """Keep the scores of so many sets."""
        self._most = most
        self._held: OrderedDict[tuple[str, ...], Floats] = OrderedDict()

    def scores(self, batch: Sequence[Sent], compute: Callable[[Sequence[Sent]], Iterable[Floats]]) -> Iterator[Floats]:
        """Iterate over the scores for each, computing those that are not at hand; nobody may change them."""
        known = {sent.texts: self._held[sent.texts] for sent in batch if sent.texts in self._held}
        fresh = iter(compute([sent for sent in batch if sent.texts not in known]))
        for sent in batch:
            if sent.texts in known:
                yield known[sent.texts]
                continue
            scores = next(fresh)
            scores.flags.writeable = False
            will_not_change(scores)
            self._held[sent.texts] = scores
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            yield scores
