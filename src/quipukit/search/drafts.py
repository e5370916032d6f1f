"""From a query to the texts that leave for it, before any of them does: a draft changes nothing that is kept.

A draft that was shown is the one that is sent: asking again, or looking again, draws no new noise. Who could look at
draft after draft and send the one that pleases would send by another law than the mechanism's.
"""

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from quipukit.covers.sticky import StickyClient
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.sticky import StickyCover
from quipukit.secret import keyed_hash
from quipukit.text import key

_REMEMBERED = 1024  # drafts that are held in memory
_HASH = 16  # bytes


@dataclass(frozen=True)
class Draft:
    """What would leave for a query; ``node`` is the node of a sticky cover, -1 for other mechanisms."""

    texts: tuple[str, ...]
    node: int = -1
    local: bool = False
    refused: bool = False


class Drafter(Protocol):
    """Makes drafts, and is told which of them is sent."""

    def draft(self, query: str) -> Draft:
        """Return what would leave for a query."""

    def sent(self, query: str, draft: Draft) -> None:
        """Take note that a draft leaves now."""

    def forget(self) -> None:
        """Begin a new session."""


class NoiseDrafter:
    """Draws variants by a mechanism; with ``memo``, a query that is asked again sends the same ones again."""

    def __init__(self, mechanism: Mechanism, n: int, memo: bool) -> None:
        self._mechanism, self._n, self._memo = mechanism, n, memo
        self._known: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def draft(self, query: str) -> Draft:
        """See Drafter."""
        name = query_hash(query)
        if name not in self._known:
            # Equal variants are asked for once: what is left out is a function of what is sent.
            self._known[name] = tuple(dict.fromkeys(self._mechanism.obfuscate(query, self._n)))
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(name)
        return Draft(shuffled(self._known[name]))

    def sent(self, query: str, draft: Draft) -> None:
        """See Drafter."""
        if not self._memo:
            self._known.pop(query_hash(query), None)

    def forget(self) -> None:
        """See Drafter: what was drawn for a query stays, or it would be asked with new noise."""


class StickyDrafter:
    """The nodes of a sticky cover: each is sent once in a session, and what follows under it is answered locally."""

    def __init__(self, mechanism: StickyCover) -> None:
        self._mechanism = mechanism
        self.forget()

    def draft(self, query: str) -> Draft:
        """See Drafter."""
        node = self._client.node_of(query)
        if node in self._client.released:
            return Draft((), node, local=True)
        if self._client.released and not self._mechanism.further:
            return Draft((), node, refused=True)
        return Draft(shuffled(self._client.list_of(node)), node)

    def sent(self, query: str, draft: Draft) -> None:
        """See Drafter."""
        if draft.texts:
            self._client.released.append(draft.node)

    def forget(self) -> None:
        """See Drafter."""
        self._client = StickyClient(self._mechanism.cover, int(self._mechanism.k), self._mechanism.members)


def drafter_of(mechanism: Mechanism, n: int, memo: bool) -> Drafter:
    """Return what makes the drafts of a mechanism."""
    return StickyDrafter(mechanism) if isinstance(mechanism, StickyCover) else NoiseDrafter(mechanism, n, memo)


def query_hash(query: str) -> str:
    """Return the name of a query: a hash under the secret of this installation, by which nobody confirms a guess."""
    return keyed_hash(_HASH, b"search\0" + key(query).encode("utf-8", "surrogatepass")).hexdigest()


def shuffled(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts in a random order, by the randomness of the operating system."""
    order = list(texts)
    secrets.SystemRandom().shuffle(order)
    return tuple(order)
