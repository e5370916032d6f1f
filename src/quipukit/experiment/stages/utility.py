"""Re-rank every pool with the original query, and measure what the user finds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from quipukit.experiment.cells import SystemCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.measures.utility import measure_identities, utility
from quipukit.progress import Progress
from quipukit.retrieval.remembered import RememberedScores
from quipukit.retrieval.rerank import rerank
from quipukit.retrieval.system import SystemSpec

if TYPE_CHECKING:
    from quipukit.experiment.stages.retrieve import Retrieve


class Utility(Stage[SystemCell]):
    """Caches `quipukit.rerank` and `utility`; nothing without judgments."""

    name = "utility"

    def __init__(self, context: Context, retrieve: "Retrieve") -> None:
        super().__init__(context)
        self.retrieve = retrieve

    @property
    def cells(self) -> Sequence[SystemCell]:
        return self.plan.system_cells if self.plan.judged else []

    def depends_on(self, cell: SystemCell) -> Any:
        return [self.retrieve.digest(cell), cell.cell.setting.key, self.judged_by(cell.system)]

    def judged_by(self, system: int) -> list[Any]:
        """Return what a pool's utility depends on, beside the pool."""
        chosen, fingerprints = self.plan.options.systems[system], self.plan.fingerprints
        ranked = [
            chosen.reranker_name,
            chosen.reranker_fingerprint,
            fingerprints["collection"],
            fingerprints["queries"],
        ]
        return [*ranked, fingerprints["qrels"], measure_identities(self.plan.options.measures)]

    def compute(self, missing: Sequence[SystemCell]) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        timer = self.context.timer
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            scorer = self.scorer(system)
            with timer.stage(
                f"re-ranking ({self.plan.options.systems[system].reranker_name})", "documents"
            ) as progress:
                self.score_all(scorer, (self.retrieve.load(cell) for cell in mine), progress)
            with timer.stage("measuring utility") as progress:
                for number, cell in enumerate(mine, 1):
                    yield cell, self.utility_of(self.retrieve.load(cell), cell, scorer)
                    progress(number, len(mine))

    def scorer(self, system: int) -> RememberedScores:
        """Return the user's re-ranker, which scores a document once per query, whichever settings pooled it."""
        spec: SystemSpec = self.plan.options.systems[system]
        with self.context.timer.stage_if_needed(f"indexing ({spec.reranker_name})", "documents") as progress:
            return RememberedScores(
                spec.load_scorer(self.plan.collection, store_of=self.context.store_of, progress=progress)
            )

    def score_all(self, scorer: RememberedScores, pools: Iterable[pd.DataFrame], progress: Progress) -> None:
        """Score all documents of some pools in one go: an encoder is at its best with many texts at once."""
        documents: dict[str, set[str]] = {}
        for pool in pools:
            for qid, docnos in pool.groupby("qid", sort=False)["docno"]:
                documents.setdefault(str(qid), set()).update(docnos)
        scorer.score_many([(self._texts[qid], sorted(docnos)) for qid, docnos in documents.items()], progress)

    def utility_of(self, pool: pd.DataFrame, cell: SystemCell, scorer: RememberedScores) -> pd.DataFrame:
        """Return the utility of one setting's pool."""
        ranked = rerank(pool, self.plan.queries, self.plan.collection, scorer)
        only = pd.DataFrame([cell.cell.setting.columns])
        return utility(ranked, self.plan.qrels, self.plan.options.measures, only)

    @property
    def _texts(self) -> Mapping[str, str]:
        return dict(zip(self.plan.queries["qid"], self.plan.queries["query"], strict=True))
