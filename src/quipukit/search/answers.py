"""What a private search gives: documents, and what left this machine for them. None of it holds the query."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hit:
    """A document, as it is shown to the user."""

    docno: str
    url: str  # "" where the engine gives none
    title: str
    snippet: str
    score: float


@dataclass(frozen=True)
class Preview:
    """What leaves for a query, or would leave.

    ``local`` says that the query is answered from what was fetched before, so that nothing leaves.
    ``sends_original`` says that the query itself is among the texts, as one of its group.
    ``guarantee`` and ``composed`` say in plain words what is promised for this query, and for all that was sent so far.
    ``over_limit`` says that it would cross a limit that the user has set; ``warnings`` then says which.
    """

    texts: tuple[str, ...]  # in the random order in which they leave
    local: bool
    sends_original: bool
    guarantee: str
    composed: str
    warnings: tuple[str, ...] = ()
    over_limit: bool = False


@dataclass(frozen=True)
class Answer:
    """Documents for a query, the best first, and what left for them."""

    hits: tuple[Hit, ...]
    preview: Preview
    failed: int  # requests without an answer
    seconds: float
