"""Re-rank every pool with the original query, and measure what the user finds."""

import contextlib
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.executors.local import Local
from quipukit.executors.shared import Plain
from quipukit.experiment.cells import SystemCell
from quipukit.experiment.stages.base import MOST_PAIRS, Context, Stage
from quipukit.frames import SCORES
from quipukit.io.parts import places_of, spans_of
from quipukit.measures.plugins import PluginMeasure
from quipukit.measures.utility import measure_identities, parse_measures, utility
from quipukit.progress import Progress
from quipukit.retrieval.remembered import RememberedScores
from quipukit.retrieval.rerank import ranked_by
from quipukit.retrieval.system import SystemSpec

if TYPE_CHECKING:
    from quipukit.experiment.stages.retrieve import Retrieve

_MOST_OPEN = 128  # files
_COLUMNS = ("qid", "docno", "fused")  # of a pool; the others say which cell it is of


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
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            scorer = self.scorer(system)
            for start in range(0, len(mine), _MOST_OPEN):
                yield from self._measured(mine[start : start + _MOST_OPEN], scorer)

    def _measured(
        self, cells: Sequence[SystemCell], scorer: RememberedScores | None
    ) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        """Yield the utility of cells of one system; of many queries, some after the other for all cells.

        So a document is scored once per query, and all that one encoder needs for some queries is encoded at once.
        """
        queries, timer = self.plan.queries, self.context.timer
        name = self.plan.options.systems[cells[0].system].reranker_name
        with contextlib.ExitStack() as stack:
            readers = {cell: stack.enter_context(self.retrieve.reader(cell)) for cell in cells}
            rows = sum(map(len, readers.values())) / len(queries)
            spans = spans_of([rows] * len(queries), MOST_PAIRS)
            pools = {cell: reader.cursor(self.plan.places, _COLUMNS) for cell, reader in readers.items()}
            if len(spans) == 1:
                own = {cell: pool.upto(len(queries)) for cell, pool in pools.items()}
                no_stage = contextlib.nullcontext()
                with timer.stage(f"re-ranking ({name})", "documents") if scorer else no_stage as progress:
                    known = self.score_all(scorer, list(own.values()), progress)
                with timer.stage("measuring utility") as progress:
                    whole = zip(own, own.values(), known, strict=True)
                    for number, (cell, scores) in enumerate(self.utilities(whole), 1):
                        yield cell, scores
                        progress(number, len(cells))
                return
            parts: dict[SystemCell, list[pd.DataFrame]] = {cell: [] for cell in cells}
            with timer.stage(
                "measuring" if scorer is None else f"re-ranking and measuring ({name})", "queries"
            ) as progress:
                for span in spans:
                    own = {cell: pool.upto(span.stop) for cell, pool in pools.items()}
                    known = self.score_all(scorer, list(own.values()))[::-1]
                    parts_of = ((cell, own.pop(cell), known.pop()) for cell in cells)
                    for cell, scores in self.utilities(parts_of, span):
                        parts[cell].append(scores)
                    self.forget(scorer)
                    progress(span.stop, len(queries))
        for cell in cells:
            yield cell, self.in_order(parts.pop(cell))

    def scorer(self, system: int) -> RememberedScores | None:
        """Return the user's re-ranker, which scores a document once per query, whichever settings pooled it.

        None where there is no re-ranker: fused ranks are those of a setting, and are in its pool.
        """
        spec: SystemSpec = self.plan.options.systems[system]
        if not spec.reranks:
            return None
        with self.context.timer.stage_if_needed(f"indexing ({spec.reranker_name})", "documents") as progress:
            return RememberedScores(
                spec.load_scorer(
                    self.plan.collection,
                    store_of=self.context.store_of,
                    answers=self.retrieve.answers,
                    progress=progress,
                )
            )

    def score_all(
        self, scorer: RememberedScores | None, pools: Sequence[pd.DataFrame], progress: Progress | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the score of every row of some pools, by which it will be ranked; fused where nothing re-ranks.

        All in one go: an encoder is at its best with many texts at once. A document that many settings pooled for a
        query is looked up once.
        """
        if scorer is None:
            return [pool["fused"].to_numpy(np.float64) for pool in pools]
        if not sum(map(len, pools)):
            return [np.empty(0) for _ in pools]
        queries, qids = _coded([pool["qid"] for pool in pools])
        documents, docnos = _coded([pool["docno"] for pool in pools])
        place_of, pairs = pd.factorize(queries * len(docnos) + documents)
        asked, found = np.divmod(pairs, max(1, len(docnos)))
        order = np.argsort(asked, kind="stable")
        of_query = np.split(order, np.searchsorted(asked[order], np.arange(1, len(qids))))
        wanted: dict[str, set[str]] = {}
        for qid, own in zip(qids, of_query, strict=True):
            wanted.setdefault(self._texts[qid], set()).update(docnos[found[own]].tolist())
        scorer.remember(wanted, progress)
        scores = np.empty(len(pairs))
        for qid, own in zip(qids, of_query, strict=True):
            scores[own] = scorer.known(self._texts[qid], docnos[found[own]].tolist())
        return np.split(scores[place_of], np.cumsum(list(map(len, pools)))[:-1])

    def forget(self, scorer: RememberedScores | None) -> None:
        """Let go of the scores of some queries."""
        if scorer is not None:
            scorer.forget()

    def utilities(
        self,
        pools: "Iterable[tuple[SystemCell, pd.DataFrame, NDArray[np.float64]]]",
        span: slice | None = None,
    ) -> Iterator[tuple[SystemCell, pd.DataFrame]]:
        """Yield the utility of pools (qid, docno) of cells: of all judged queries, or of some, by their places.

        Workers get the scores (`score_all`), and measure.
        """
        qrels, measures = self.plan.qrels, tuple(self.plan.options.measures)
        if span is not None:
            places = places_of(qrels, self.plan.places)
            qrels = qrels[(places >= span.start) & (places < span.stop)]
            if not (qrels["relevance"] > 0).any():
                yield from ((cell, SCORES.empty()) for cell, _, _ in pools)  # nothing can be found
                return
        # A plugin's measures are installed here, and perhaps nowhere else.
        ours = any(isinstance(one, PluginMeasure) for one in parse_measures(measures))
        executor = Local() if ours else self.context.executor
        cells: list[SystemCell] = []

        def items() -> "Iterator[Plain[_Measuring]]":
            for cell, pool, scores in pools:
                cells.append(cell)
                yield Plain(_Measuring(pool[["qid", "docno"]], scores, cell.cell.setting.columns, qrels, measures))

        for number, scores in executor.map(_utility, items()):
            yield cells[number], scores

    def in_order(self, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Return the utilities of some queries after the other in the order in which queries are judged."""
        scores = pd.concat([part for part in parts if len(part)], ignore_index=True)
        order = {qid: place for place, qid in enumerate(dict.fromkeys(self.plan.qrels["qid"]))}
        return scores.iloc[np.argsort(places_of(scores, order), kind="stable")].reset_index(drop=True)

    @functools.cached_property
    def _texts(self) -> Mapping[str, str]:
        return dict(zip(self.plan.queries["qid"], self.plan.queries["query"], strict=True))


def _coded(columns: "Sequence[pd.Series[str]]") -> "tuple[NDArray[np.int64], NDArray[np.object_]]":
    """Return the strings of columns, one after the other, as numbers, and what each stands for.

    No string of Python is made but for those that differ: a column of strings is slow to iterate over.
    """
    import pyarrow as pa

    kind = pa.large_string()
    parts = [pa.array(column, kind) for column in columns]
    chunks = [chunk for part in parts for chunk in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
    coded = pa.chunked_array(chunks, kind).combine_chunks().dictionary_encode()
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_numpy(zero_copy_only=False)


@dataclass(frozen=True, eq=False)
class _Measuring:
    """The pool of one setting (qid, docno), the score of each row, and what it is measured by."""

    pool: pd.DataFrame
    scores: NDArray[np.float64]
    setting: Mapping[str, Any]
    qrels: pd.DataFrame
    measures: tuple[str, ...]


def _utility(given: "Plain[_Measuring]") -> pd.DataFrame:
    item = given.content
    ranked = ranked_by(item.pool.assign(**item.setting), item.scores)
    return utility(ranked, item.qrels, item.measures, pd.DataFrame([dict(item.setting)]))
