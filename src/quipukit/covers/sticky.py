"""A client that covers whole sessions: nodes that are fixed beforehand, each sent once, all further answers local.

One public level of a partition is chosen before the first query: disjoint nodes of K queries or more. A query under a
node that was not released yet releases it: the client sends the node's fixed list. A query under a node that was
released is answered from the documents already fetched, ranked anew with the query on the user's own machine, and
sends nothing.

Theorem. What is sent in a session is a function of the sequence of *new* nodes and of the moments at which they are
sent: sessions that agree in both are indistinguishable. Nodes that depend on the session (the smallest one that holds
its topic, say) would be nested, and the difference of two of them would tell more than either.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from quipukit.covers.partition import Partition
from quipukit.errors import InputError
from quipukit.seeds import fresh
from quipukit.text import key

Consent = Callable[[str], bool]
LEAST = 2  # queries in a node


@dataclass(frozen=True)
class Step:
    """What became of one query: the texts that are to be sent (none, where it is answered locally or was refused)."""

    sends: tuple[str, ...]
    node: int  # -1 for an empty query
    refused: bool = False

    @property
    def local(self) -> bool:
        """Return whether the query is answered from what was fetched before."""
        return not self.sends and not self.refused


@dataclass(eq=False)
class StickyClient:
    """One session of one user; make a new one for the next.

    ``k`` is the least number of queries in a node. ``members`` limits a node's list to as many fixed representatives.
    ``consent`` is asked with a query before it releases a further node; without one it does. The first is always
    released. What it returns must not depend on anything that the engine should not learn.

    >>> from quipukit.covers.describe import Description
    >>> from quipukit.covers.make import make_partition
    >>> from quipukit.covers.pool import QueryPool
    >>> pool = QueryPool.of(["cat food", "dog food", "income tax", "tax return"])
    >>> client = StickyClient(make_partition(pool, 2, Description("static:default")), 2)
    >>> sorted(client.ask("income tax").sends), client.ask("tax return").local
    (['income tax', 'tax return'], True)
    >>> sorted(client.ask("cat food").sends)
    ['cat food', 'dog food']
    """

    partition: Partition
    k: int
    members: int | None = None
    consent: Consent | None = None
    released: list[int] = field(default_factory=list, init=False)  # in order

    def __post_init__(self) -> None:
        if self.k < LEAST:
            raise InputError(f"a node needs at least {LEAST} queries (found {self.k}): a query alone hides among none.")
        self.partition.starts(self.k)  # refuses a pool that is too small

    def ask(self, query: str, rng: np.random.Generator | None = None) -> Step:
        """Return what is to be sent for the next query of the session; the order of the texts is random."""
        if not key(query):
            return Step((), -1)
        node = self.node_of(query)
        if node in self.released:
            return Step((), node)
        if self.released and self.consent is not None and not self.consent(query):
            return Step((), node, refused=True)
        self.released.append(node)
        texts = self.list_of(node)
        order = (fresh() if rng is None else rng).permutation(len(texts))
        return Step(tuple(texts[place] for place in order), node)

    def node_of(self, query: str) -> int:
        """Return the node of a query: a function of the query and of the public partition alone."""
        return self.partition.group_of(query, self.k)

    def list_of(self, node: int) -> list[str]:
        """Return the fixed list of a node."""
        return self.partition.members(node, self.k, self.members)
