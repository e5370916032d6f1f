"""Guessers: attackers that name documents. Each returns a ranked list of what it believes the user wants.

- `Consensus` fuses the lists that the engine itself returned for the variants of a query. It needs no query log.
- `Guess` searches with an attacker's best guess from its query log, and re-ranks what it finds with the guess.

A guess may be the original itself, so it is never sent anywhere: it is searched on this machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from quipukit.errors import InputError
from quipukit.executors.base import Executor
from quipukit.frames import SETTING
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Scorer, scored
from quipukit.retrieval.fusion import K, fuse
from quipukit.retrieval.pool import search_distinct

CONSENSUS, GUESS = "Consensus", "Guess"

# Documents with their scores, best first; those with equal scores stand level.
ScoredList = Sequence[tuple[str, float]]
Key = tuple[str, str, float, str]  # a setting and a qid


@dataclass(frozen=True)
class Consensus:
    """Reciprocal-rank fusion of the lists that the engine returned for the variants of a query."""

    k: int = K

    def lists(self, run: pd.DataFrame) -> dict[Key, ScoredList]:
        """Return one list for every setting and query of a Run with variants, as `quipukit.retrieve` returns it."""
        return lists_of(fuse(run, self.k))


@dataclass(frozen=True, eq=False)
class Guess:
    """The documents that a guessed query finds: searched on this machine, and re-ranked with the guess, if at all."""

    retriever: Retriever
    scorer: Scorer | None
    depth: int

    def __post_init__(self) -> None:
        refuse_remote(self.retriever)

    def lists(
        self, texts: Sequence[str], progress: Progress | None = None, executor: Executor | None = None
    ) -> dict[str, ScoredList]:
        """Return one list for every distinct text."""
        rankings = search_distinct(texts, self.retriever, self.depth, progress, executor)
        if self.scorer is None:
            return {text: _in_order(ranking) for text, ranking in rankings.items()}
        batches = [(text, ranking.docnos) for text, ranking in rankings.items()]
        scores = scored(self.scorer, batches, progress)
        return {
            text: sorted(zip(docnos, own.tolist(), strict=True), key=lambda one: (-one[1], one[0]))
            for (text, docnos), own in zip(batches, scores, strict=True)
        }


def lists_of(ranked: pd.DataFrame, score: str = "score") -> dict[Key, ScoredList]:
    """Return the lists of a Run by setting and query, best first by a column of scores."""
    lists: dict[Key, list[tuple[str, float]]] = {}
    columns = (ranked[column].tolist() for column in (*SETTING, "qid", "docno", score))
    for mechanism, parameter, value, qid, docno, number in zip(*columns, strict=True):
        lists.setdefault((mechanism, parameter, value, qid), []).append((docno, number))
    return {key: sorted(own, key=lambda one: (-one[1], one[0])) for key, own in lists.items()}


def own_lists(queries: Mapping[str, str], retriever: Retriever, depth: int) -> dict[str, ScoredList]:
    """Return the list of every original query, by qid, in the retriever's own order."""
    refuse_remote(retriever)
    rankings = search_distinct(list(queries.values()), retriever, depth)
    ordered = {text: _in_order(ranking) for text, ranking in rankings.items()}
    return {qid: ordered[text] for qid, text in queries.items()}


def _in_order(ranking: Ranking) -> ScoredList:
    # Ranks in place of scores: what the engine has ordered is not level.
    return [(docno, -float(rank)) for rank, docno in enumerate(ranking.docnos)]


def refuse_remote(retriever: Retriever) -> None:
    """Refuse a search system over the network: it would receive guesses, and with them originals."""
    if retriever.remote:
        raise InputError(
            f"{retriever.name} is over the network, and a guess may be an original query; guesses are searched on this "
            "machine: name bm25 or dense.",
            argument="retriever",
        )
