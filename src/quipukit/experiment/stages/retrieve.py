"""Ask every system for every distinct obfuscated query; pool the answers by query, and fuse them by their ranks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.experiment.cells import Cell, SystemCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.progress import Progress, part_of
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.fusion import fused_pool
from quipukit.retrieval.pool import search_distinct
from quipukit.retrieval.system import SystemSpec

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate

# Answers to distinct queries that stay in memory, to be shared by the cells: some hundred bytes each.
_MOST_ANSWERS = 200_000


class Retrieve(Stage[SystemCell]):
    """Caches `quipukit.retrieve` and `pool`: the documents that a system found for a cell.

    A pool discards the ranks; what the engine itself can conclude from its lists is kept beside it, as the column
    ``fused`` (see `quipukit.retrieval.fusion`).
    """

    name = "retrieve"
    tables = ("pool",)

    def __init__(self, context: Context, obfuscate: "Obfuscate") -> None:
        super().__init__(context)
        self.obfuscate = obfuscate

    @property
    def cells(self) -> Sequence[SystemCell]:
        return self.plan.system_cells

    def depends_on(self, cell: SystemCell) -> Any:
        system = self.plan.options.systems[cell.system]
        searched = [system.retriever_name, system.retriever_fingerprint, self.plan.fingerprints["collection"]]
        return [self.obfuscate.digest(cell.cell), searched, self.plan.depth(cell.cell)]

    def compute(self, missing: Sequence[SystemCell]) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            retriever = self.retriever(system)
            answers: dict[tuple[str, int], Ranking] = {}
            with self.context.timer.stage(
                f"searching ({self.plan.options.systems[system].retriever_name})"
            ) as progress:
                for number, cell in enumerate(mine):
                    yield cell, self._pool(cell.cell, retriever, answers, part_of(progress, number, 1, len(mine)))
                    progress(number + 1, len(mine))

    def _pool(
        self, cell: Cell, retriever: Retriever, answers: dict[tuple[str, int], Ranking], progress: Progress | None
    ) -> pd.DataFrame:
        sent, depth = self.obfuscate.sent(cell), self.plan.depth(cell)
        if len(answers) > _MOST_ANSWERS:
            answers.clear()
        new = [text for text in dict.fromkeys(sent["query"]) if (text, depth) not in answers]
        for text, ranking in search_distinct(new, retriever, depth, progress, self.context.executor).items():
            answers[text, depth] = Ranking(ranking.docnos, np.empty(0))  # a pool discards the scores
        return fused_pool(sent, {text: answers[text, depth] for text in sent["query"]})

    def retriever(self, system: int) -> Retriever:
        """Return a search system; what an engine over the network has answered is kept in the folder of the run."""
        spec: SystemSpec = self.plan.options.systems[system]
        with self.context.timer.stage_if_needed(f"indexing ({spec.retriever_name})", "documents") as progress:
            return spec.load_retriever(
                self.plan.collection,
                store_of=self.context.store_of,
                answers=self.context.artifacts.folder / "answers",
                progress=progress,
            )

    def documents_pooled(self, cell: Cell) -> float:
        """Return how many documents were pooled per query, in the mean; of several systems the most."""
        sizes = [len(self.load(SystemCell(system, cell))) for system in range(len(self.plan.options.systems))]
        return max(sizes) / len(self.plan.queries)
