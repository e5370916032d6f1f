"""StickyCover: a cover that sends each node once in a session, and answers all else from what was fetched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.guarantees import Guarantee, NoGuarantee, WithinNodes
from quipukit.mechanisms.base import check_flag
from quipukit.mechanisms.changes import change_since
from quipukit.mechanisms.cover import Cover, GroupLaw
from quipukit.text import key


@dataclass(frozen=True, kw_only=True)
class StickyCover(Cover):
    """Cover for sessions: the first query of a node sends the node's fixed list, later ones under it send nothing.

    For one query it is Cover. ``k`` is the least number of queries in a node: larger than for Cover, so that more of a
    session stays under the nodes that were released. With ``further=False`` no query releases a second node: one that
    is not under the first is refused, and finds nothing. `covers.sticky.StickyClient` is the client of a real session.

    Guarantee: sessions with the same sequence of new nodes, sent at the same moments, are indistinguishable.
    """

    name: ClassVar[str] = "StickyCover"
    summary: ClassVar[str] = "a cover for sessions: each node is sent once, further queries are answered locally"

    further: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag(self.name, "further", self.further)

    @property
    def guarantee(self) -> Guarantee:
        if change := change_since(type(self), "guarantee"):
            return NoGuarantee(f"{self.name} changes {change} and promises nothing of its own")
        sizes = np.diff(self.cover.starts(int(self.k)))
        return WithinNodes(int(sizes.min()), self.cover.pool.name)

    def in_session(self, alone: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Send the list of a node where it comes first."""
        sent: set[frozenset[str]] = set()
        transcript = []
        for texts in alone:
            node = frozenset(map(key, texts))
            new = node not in sent and (self.further or not sent)
            transcript.append(texts if new else ())
            if new:
                sent.add(node)
        return transcript

    def query_law(self, candidates: Sequence[str]) -> "NodesLaw":
        return NodesLaw(self, self.cover.groups_of(list(candidates), int(self.k)))


class NodesLaw(GroupLaw):
    """All candidates of the nodes that were sent are equally likely: of a query that sent nothing no more is known."""

    def log_likelihoods(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return 0 for the candidates of nodes whose lists are among these texts, and minus infinity for all others."""
        seen = frozenset(map(key, texts))
        fitting = [group for group in self._groups_of(texts) if self._sent_by(group) <= seen]
        return np.where(np.isin(self.groups, fitting), 0.0, -np.inf)
