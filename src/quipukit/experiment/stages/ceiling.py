"""The upper reference of a setting: what the original query finds among as many documents as the setting pooled.

`Identity` sends one text and pools the `depth` documents of one list; N variants pool up to N lists. A setting may
therefore find more than `Identity` does just because its pool is larger. Its fair reference is the original query,
searched as deep as the setting's pool is large, re-ranked and measured in the same way. The depth is never below that
of `Identity`: a query for which little or nothing was sent is a loss, not an excuse.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.experiment.cells import SystemCell
from quipukit.experiment.stages.base import MOST_PAIRS, Context, Stage
from quipukit.io.parts import spans_of
from quipukit.progress import Progress
from quipukit.retrieval.base import Retriever
from quipukit.retrieval.fusion import reciprocal_ranks
from quipukit.retrieval.pool import search_distinct
from quipukit.retrieval.remembered import RememberedScores
from quipukit.settings import ORIGINAL

if TYPE_CHECKING:
    from quipukit.experiment.stages.retrieve import Retrieve
    from quipukit.experiment.stages.utility import Utility

Depths = Mapping[SystemCell, Mapping[str, int]]  # of each cell, by query


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
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            depths = {cell: self._depths(cell) for cell in mine}
            deepest = {qid: max(each[qid] for each in depths.values()) for qid in self.plan.queries["qid"]}
            spans = spans_of(list(deepest.values()), MOST_PAIRS / 2)
            measured = self._measured if len(spans) == 1 else self._measured_by_spans
            yield from measured(mine, depths, deepest, spans)

    def _measured(
        self, cells: Sequence[SystemCell], depths: Depths, deepest: Mapping[str, int], _: Sequence[slice]
    ) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        """Yield the utility of the originals as deep as each cell pooled, all queries at once."""
        timer, system = self.context.timer, cells[0].system
        scorer = self.utility.scorer(system)
        with timer.stage("searching with the originals") as progress:
            retriever = self.retrieve.retriever(system)
            rankings = self._rankings(retriever, max(deepest.values()), self.plan.queries, progress)
        reranker = self.plan.options.systems[system].reranker_name
        if scorer is not None:
            with timer.stage(f"re-ranking for the originals ({reranker})", "documents") as progress:
                self.utility.score_all(scorer, [first_documents(rankings, deepest)], progress)
        with timer.stage("measuring the originals") as progress:
            pools = self._scored(scorer, rankings, depths, cells)
            for number, (cell, scores) in enumerate(self.utility.utilities(pools), 1):
                yield cell, scores.assign(side="ceiling")
                progress(number, len(cells))

    def _measured_by_spans(
        self, cells: Sequence[SystemCell], depths: Depths, deepest: Mapping[str, int], spans: Sequence[slice]
    ) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        """Yield the same, some queries after the other: the lists of all would be too much to hold."""
        system, most = cells[0].system, max(deepest.values())
        retriever, scorer = self.retrieve.retriever(system), self.utility.scorer(system)
        parts: dict[SystemCell, list[pd.DataFrame]] = {cell: [] for cell in cells}
        with self.context.timer.stage("searching and measuring the originals", "queries") as progress:
            for span in spans:
                some = self.plan.queries.iloc[span]
                rankings = self._rankings(retriever, most, some)
                self.utility.score_all(scorer, [first_documents(rankings, deepest)])
                pools = self._scored(scorer, rankings, depths, cells)
                for cell, scores in self.utility.utilities(pools, span):
                    parts[cell].append(scores)
                self.utility.forget(scorer)
                progress(span.stop, len(self.plan.queries))
        for cell in cells:
            yield cell, self.utility.in_order(parts.pop(cell)).assign(side="ceiling")

    def _scored(
        self,
        scorer: RememberedScores | None,
        rankings: Mapping[str, Sequence[str]],
        depths: Depths,
        cells: Sequence[SystemCell],
    ) -> "Iterator[tuple[SystemCell, pd.DataFrame, NDArray[np.float64]]]":
        """Yield what the originals find as deep as each cell pooled, and the scores, which are remembered."""
        for cell in cells:
            pool = first_documents(rankings, depths[cell])
            (scores,) = self.utility.score_all(scorer, [pool])
            yield cell, pool, scores

    def _depths(self, cell: SystemCell) -> dict[str, int]:
        with self.retrieve.reader(cell) as pool:
            return depths_of(pool.frames(["qid"]), self.plan.queries["qid"].tolist(), self.plan.depth(cell.cell))

    def _rankings(
        self, retriever: Retriever, depth: int, queries: pd.DataFrame, progress: Progress | None = None
    ) -> dict[str, list[str]]:
        """Return the documents that a system finds for original queries, best first."""
        most = min(depth, len(self.plan.collection) or depth, retriever.window or depth)
        answers = search_distinct(queries["query"].tolist(), retriever, most, progress, self.context.executor)
        return {qid: answers[text].docnos for qid, text in zip(queries["qid"], queries["query"], strict=True)}


def depths_of(pools: Iterable[pd.DataFrame], qids: Sequence[str], least: int) -> dict[str, int]:
    """Return how many documents were pooled for each query, and ``least`` where there were fewer.

    >>> depths_of([pd.DataFrame({"qid": ["1", "1"]}), pd.DataFrame({"qid": ["1", "2"]})], ["1", "2", "3"], 2)
    {'1': 3, '2': 2, '3': 2}
    """
    counts: Counter[str] = Counter()
    for pool in pools:
        counts.update(pool["qid"].value_counts().to_dict())
    return {qid: max(least, counts[qid]) for qid in qids}


def first_documents(rankings: Mapping[str, Sequence[str]], depths: Mapping[str, int]) -> pd.DataFrame:
    """Return the first documents of each ranking (qid, docno, fused), or all of one that has fewer; none twice."""
    first = {qid: list(dict.fromkeys(ranking[: depths[qid]])) for qid, ranking in rankings.items()}
    qids = np.repeat(np.array(list(first), object), [len(docnos) for docnos in first.values()])
    docnos = [docno for docnos in first.values() for docno in docnos]
    fused = np.concatenate([reciprocal_ranks(len(own)) for own in first.values()] or [np.empty(0)])
    return pd.DataFrame({"qid": qids, "docno": docnos}, dtype=object).assign(fused=fused)
