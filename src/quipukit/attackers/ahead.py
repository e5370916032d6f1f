"""What is multiplied with a long log ahead of time: its sums of word vectors are read once for many sets of texts."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from quipukit.attackers.base import Attacker, Sent
from quipukit.attackers.tokens import LogTokens
from quipukit.attackers.wordspace import Singles
from quipukit.plugins import naming

# Of products, one for every row and set of texts, that wait for their turn.
_MOST_BYTES = 200_000_000
_MOST_SETS = 32

Multiply = Callable[[Sequence[Sent]], Sequence[Singles]]


def expect_next(asked: Iterable[tuple[Attacker, Sequence[Sent]]], start: int, step: int, rows: int) -> None:
    """Tell attackers which sets come next, from set number ``start`` on, if they were told of all before it.

    They score ``step`` sets at a time, and are told of several such steps at once.
    """
    ahead = sets_ahead(rows) // step * step
    if ahead and start % ahead == 0:
        for attacker, sent in asked:
            with naming("attacker", attacker):
                attacker.expect(sent[start : start + ahead])


def sets_ahead(rows: int) -> int:
    """Return for how many sets of texts a log of so many rows is read at once."""
    return max(1, min(_MOST_SETS, _MOST_BYTES // (4 * max(1, rows))))


class Ahead:
    """Products of one kind of attacker with one log, for the sets of texts that are expected next."""

    @classmethod
    def of(cls, tokens: LogTokens, who: Hashable) -> "Ahead":
        """Return what attackers with one log share under a name."""
        return tokens.derived(("ahead", who), cls)

    def __init__(self) -> None:
        """Expect nothing."""
        self._held: dict[tuple[str, ...], Singles] = {}

    def fill(self, batch: Sequence[Sent], multiply: Multiply) -> None:
        """Compute the products of a batch, in place of those that were expected before it."""
        wanted = {sent.texts: sent for sent in batch}
        if not wanted.keys() <= self._held.keys():
            self._held.clear()  # first: both together may be more than there is room for
            self._held.update(zip(wanted, multiply(list(wanted.values())), strict=True))

    def products(self, batch: Sequence[Sent], multiply: Multiply) -> list[Singles]:
        """Return the products of a batch, computing those that nobody expected."""
        rest = iter(multiply([sent for sent in batch if sent.texts not in self._held]))
        return [self._held[sent.texts] if sent.texts in self._held else next(rest) for sent in batch]
