"""From a query to the texts that leave for it, before any of them does: a draft changes nothing that is kept.

A draft that was shown is the one that is sent: asking again, or looking again, draws no new noise. Who could look at
draft after draft and send the one that pleases would send by another law than the mechanism's.
"""

import json
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cover import Cover
from quipukit.mechanisms.sticky import StickyCover
from quipukit.search.ledger import Ledger
from quipukit.search.topics import Topics, keyed_name
from quipukit.text import key

_REMEMBERED = 1024  # drafts that are held in memory


@dataclass(frozen=True)
class Draft:
    """What would leave for a query.

    ``name`` is that of drawn variants, empty for fixed lists; ``memo`` says that the ledger keeps them under it, and
    ``repeated`` that it did: these very variants have left before. ``refused`` says in words why nothing may leave.
    """

    node: int  # its topic
    texts: tuple[str, ...] = ()
    local: bool = False
    name: str = ""
    memo: bool = False
    repeated: bool = False
    refused: str = ""

    @property
    def kept_as(self) -> str:
        """Return the name under which the ledger keeps the variants; empty where it does not."""
        return self.name if self.memo else ""


class Drafter(Protocol):
    """Makes drafts, and is told which of them is sent."""

    def draft(self, query: str) -> Draft:
        """Return what would leave for a query."""

    def sent(self, draft: Draft) -> None:
        """Take note that a draft leaves now."""

    def failed(self, draft: Draft) -> None:
        """Take note that nothing of a draft was answered."""

    def forget(self) -> None:
        """Begin a new session."""


class NoiseDrafter:
    """Draws variants by a mechanism; with ``memo``, a query that is asked again sends the same ones again."""

    def __init__(self, mechanism: Mechanism, n: int, topics: Topics, ledger: Ledger, memo: bool) -> None:
        self._mechanism, self._n, self._memo = mechanism, n, memo
        self._topics, self._ledger = topics, ledger
        self._drawn: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def draft(self, query: str) -> Draft:
        """See Drafter."""
        name, node = self._name(query), self._topics.node_of(query)
        known = self._ledger.variants(name) if self._memo else None
        if known is not None:
            return Draft(node, shuffled(known), name=name, memo=True, repeated=True)
        if name not in self._drawn:
            # Equal variants are asked for once: what is left out is a function of what is sent.
            self._drawn[name] = tuple(dict.fromkeys(self._mechanism.obfuscate(query, self._n)))
            while len(self._drawn) > _REMEMBERED:
                self._drawn.popitem(last=False)
        self._drawn.move_to_end(name)
        return Draft(node, shuffled(self._drawn[name]), name=name, memo=self._memo)

    def sent(self, draft: Draft) -> None:
        """See Drafter."""
        self._drawn.pop(draft.name, None)

    def failed(self, draft: Draft) -> None:
        """See Drafter: the engine may have seen it."""

    def forget(self) -> None:
        """See Drafter: what was drawn for a query stays, or it would be asked with new noise."""

    def _name(self, query: str) -> str:
        vectors = self._mechanism.vocabulary
        setting = [repr(self._mechanism.spec), self._n, "" if vectors is None else vectors.fingerprint]
        return keyed_name("variants", json.dumps([*setting, key(query)]))


class GroupDrafter:
    """The groups of a cover: the whole list of the query's group, in a random order."""

    def __init__(self, mechanism: Cover, topics: Topics) -> None:
        self._mechanism, self._topics = mechanism, topics

    def draft(self, query: str) -> Draft:
        """See Drafter."""
        node = self._topics.node_of(query)
        return Draft(node, shuffled(self._list_of(node)))

    def sent(self, draft: Draft) -> None:
        """See Drafter."""

    def failed(self, draft: Draft) -> None:
        """See Drafter."""

    def forget(self) -> None:
        """See Drafter."""

    def _list_of(self, node: int) -> list[str]:
        return self._mechanism.cover.members(node, int(self._mechanism.k), self._mechanism.members)


class StickyDrafter(GroupDrafter):
    """The nodes of a sticky cover: each is sent once in a session, and what follows under it is answered locally.

    The rules are those of `covers.sticky.StickyClient`, which takes a query as sent when it is asked.
    """

    def __init__(self, mechanism: StickyCover, topics: Topics) -> None:
        super().__init__(mechanism, topics)
        self._further = mechanism.further
        self._released: set[int] = set()

    def draft(self, query: str) -> Draft:
        """See Drafter."""
        node = self._topics.node_of(query)
        if node in self._released:
            return Draft(node, local=True)
        if self._released and not self._further:
            return Draft(
                node, refused="This query is under another topic than the first, and further=False allows one."
            )
        return Draft(node, shuffled(self._list_of(node)))

    def sent(self, draft: Draft) -> None:
        """See Drafter."""
        if draft.texts:
            self._released.add(draft.node)

    def failed(self, draft: Draft) -> None:
        """See Drafter: the next query under the node sends it again."""
        self._released.discard(draft.node)

    def forget(self) -> None:
        """See Drafter."""
        self._released.clear()


def drafter_of(mechanism: Mechanism, n: int, topics: Topics, ledger: Ledger, memo: bool) -> Drafter:
    """Return what makes the drafts of a mechanism."""
    if isinstance(mechanism, StickyCover):
        return StickyDrafter(mechanism, topics)
    return (
        GroupDrafter(mechanism, topics)
        if isinstance(mechanism, Cover)
        else NoiseDrafter(mechanism, n, topics, ledger, memo)
    )


def shuffled(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts in a random order, by the randomness of the operating system."""
    order = list(texts)
    secrets.SystemRandom().shuffle(order)
    return tuple(order)
