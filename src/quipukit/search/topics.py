"""The topic of a query, by which the ledger counts: a node of a public partition, the same for related queries."""

import functools

from quipukit.covers.load import load_partition
from quipukit.covers.partition import Partition
from quipukit.errors import ResourceError
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cover import Cover
from quipukit.secret import keyed_hash
from quipukit.text import key

NODE = 1000  # queries, for mechanisms that have no groups of their own
UNKNOWN = -1
_HASH = 16  # bytes


def query_hash(query: str) -> str:
    """Return the name of a query: a hash under the secret of this installation, by which nobody confirms a guess."""
    return keyed_name("query", key(query))


class Topics:
    """The topics of queries under a mechanism: the groups of a cover, or the nodes of the built-in partition."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._cover = mechanism if isinstance(mechanism, Cover) else None

    @functools.cached_property
    def partition(self) -> Partition:
        """Return the partition whose nodes are the topics."""
        return load_partition() if self._cover is None else self._cover.cover

    @property
    def k(self) -> int:
        """Return the least number of queries of a topic."""
        return min(NODE, len(self.partition.pool)) if self._cover is None else int(self._cover.k)

    def node_of(self, query: str) -> int:
        """Return the number of a query's topic.

        Where a mechanism of noise finds no encoder for a query outside the pool, all such queries count as one topic:
        rather too much than too little.
        """
        try:
            return self.partition.group_of(query, self.k)
        except ResourceError:
            if self._cover is not None:
                raise
            return UNKNOWN

    def hash_of(self, node: int) -> str:
        """Return the name of a topic: a hash, of which the file alone does not tell what it is about."""
        return keyed_name("topic", f"{self.partition.fingerprint} {self.k} {node}")


def keyed_name(what: str, text: str) -> str:
    """Return a hash of a text under the secret of this installation; ``what`` keeps texts of several kinds apart."""
    return keyed_hash(_HASH, f"{what}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
