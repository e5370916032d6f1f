"""The upper reference of a setting: what the original query finds among as many documents as the setting pooled.

`Identity` sends one text and pools the `depth` documents of one list; N variants pool up to N lists. A setting may
therefore find more than `Identity` does just because its pool is larger. Its fair reference is the original query,
searched as deep as the setting's pool is large, re-ranked and measured in the same way. The depth is never below that
of `Identity`: a query for which little or nothing was sent is a loss, not an excuse.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.experiment.cells import Cell, SystemCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.progress import Progress
from quipukit.retrieval.pool import pooled_documents, search_distinct
from quipukit.settings import ORIGINAL

if TYPE_CHECKING:
    from quipukit.experiment.stages.retrieve import Retrieve
    from quipukit.experiment.stages.utility import Utility


class Ceiling(Stage[SystemCell]):
    """Caches the utility of the originals; only with judgments, and where they are sent anyway (Identity)."""

    name = "ceiling"

    def __init__(self, context: Context, retrieve: "Retrieve", utility: "Utility") -> None:
        super().__init__(context)
        self.retrieve, self.utility = retrieve, utility

    @property
    def cells(self) -> Sequence[SystemCell]:
        sent_anyway = any(setting.mechanism == ORIGINAL for setting in self.plan.settings)
        return self.utility.cells if sent_anyway else []

    def depends_on(self, cell: SystemCell) -> Any:
        return [self.retrieve.key(cell), self.utility.key(cell)]

    def compute(self, missing: Sequence[SystemCell]) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        timer = self.context.timer
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            depths = {cell: self._depths(cell) for cell in mine}
            scorer = self.utility.scorer(system)
            with timer.stage("searching with the originals") as progress:
                deepest = {qid: max(each[qid] for each in depths.values()) for qid in self.plan.queries["qid"]}
                rankings = self._rankings(system, max(deepest.values()), progress)
            reranker = self.plan.options.systems[system].reranker_name
            with timer.stage(f"re-ranking for the originals ({reranker})", "documents") as progress:
                self.utility.score_all(scorer, [first_documents(rankings, deepest, mine[0].cell)], progress)
            with timer.stage("measuring the originals") as progress:
                for number, cell in enumerate(mine, 1):
                    pool = first_documents(rankings, depths[cell], cell.cell)
                    yield cell, self.utility.utility_of(pool, cell, scorer).assign(side="ceiling")
                    progress(number, len(mine))

    def _depths(self, cell: SystemCell) -> dict[str, int]:
        return depths_of(self.retrieve.load(cell), self.plan.queries["qid"].tolist(), self.plan.depth(cell.cell))

    def _rankings(self, system: int, depth: int, progress: Progress) -> dict[str, list[str]]:
        """Return the documents that a system finds for every original query, best first."""
        queries = self.plan.queries
        retriever = self.retrieve.retriever(system)
        most = min(depth, len(self.plan.collection), retriever.window or depth)
        answers = search_distinct(queries["query"].tolist(), retriever, most, progress, self.context.executor)
        return {qid: answers[text].docnos for qid, text in zip(queries["qid"], queries["query"], strict=True)}


def depths_of(pool: pd.DataFrame, qids: Sequence[str], least: int) -> dict[str, int]:
    """Return how many documents were pooled for each query, and ``least`` where there were fewer.

    >>> depths_of(pd.DataFrame({"qid": ["1", "1", "1", "2"], "docno": ["a", "b", "c", "a"]}), ["1", "2", "3"], 2)
    {'1': 3, '2': 2, '3': 2}
    """
    counts = pool["qid"].value_counts().to_dict()
    return {qid: max(least, int(counts.get(qid, 0))) for qid in qids}


def first_documents(rankings: Mapping[str, Sequence[str]], depths: Mapping[str, int], cell: Cell) -> pd.DataFrame:
    """Return as a pool of a cell's setting the first documents of each ranking; all of one that has fewer."""
    return pooled_documents({(*cell.setting.key, qid): rankings[qid][:depth] for qid, depth in depths.items()})
