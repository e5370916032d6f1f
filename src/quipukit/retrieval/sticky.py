"""Search under a sticky cover: fetch for the nodes that are sent, answer every query from all that was fetched."""

from dataclasses import dataclass, field

import numpy as np

from quipukit.covers.sticky import StickyClient
from quipukit.errors import InputError
from quipukit.retrieval.base import Ranking, Retriever, Scorer, scored


@dataclass(eq=False)
class StickySearch:
    """One session of one user: what a node's list finds is kept, and ranked anew for each query on this machine.

    A search system over the network receives the user's own queries among those of their nodes: ``send_originals`` says
    that this is meant.
    """

    client: StickyClient
    retriever: Retriever
    reranker: Scorer
    depth: int = 10
    send_originals: bool = False
    fetched: dict[str, None] = field(default_factory=dict, init=False)  # documents, in the order of their arrival

    def __post_init__(self) -> None:
        if self.retriever.remote and self.send_originals is not True:
            raise InputError(
                f"{self.retriever.name} is over the network, and a cover sends your query among others; pass "
                "send_originals=True if that is meant.",
                argument="send_originals",
            )

    def ask(self, query: str) -> Ranking | None:
        """Return the documents for the next query of the session, the best first; None where it was refused."""
        step = self.client.ask(query)
        if step.refused:
            return None
        for ranking in self.retriever.search(list(step.sends), self.depth) if step.sends else ():
            self.fetched.update(dict.fromkeys(ranking.docnos))
        documents = sorted(self.fetched)
        (scores,) = scored(self.reranker, [(query, documents)])
        order = np.argsort(-scores, kind="stable")  # ties by docno
        return Ranking([documents[place] for place in order], scores[order])
