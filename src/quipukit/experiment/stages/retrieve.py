"""Ask every system for every distinct obfuscated query; pool the answers by query, and fuse them by their ranks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from quipukit.executors.base import Executor, slices
from quipukit.executors.local import Local
from quipukit.executors.shared import Plain
from quipukit.experiment.artifacts import encoded
from quipukit.experiment.cells import Cell, SystemCell
from quipukit.experiment.stages.base import Context, Encoded, Part, Stage
from quipukit.io.parts import places_of, spans_of
from quipukit.progress import Progress, part_of
from quipukit.retrieval.base import Ranking, Retriever
from quipukit.retrieval.fusion import fused_pool
from quipukit.retrieval.pool import search_distinct, searches_elsewhere
from quipukit.retrieval.system import SystemSpec

if TYPE_CHECKING:
    from quipukit.experiment.stages.obfuscate import Obfuscate

# Documents of answers to distinct queries that stay in memory, to be shared by the cells; and of those that are pooled
# at once, which take some hundred bytes each.
_MOST_KEPT = 3_000_000
_MOST_POOLED = 1_000_000


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
        if system.remote and system.on_snippets:
            searched.append("shown")  # which was not asked for where texts are re-ranked
        return [self.obfuscate.digest(cell.cell), searched, self.plan.depth(cell.cell)]

    def compute(self, missing: Sequence[SystemCell]) -> Iterator[tuple[SystemCell, pd.DataFrame | Part | Encoded]]:
        for system in dict.fromkeys(cell.system for cell in missing):
            mine = [cell for cell in missing if cell.system == system]
            retriever, done = self.retriever(system), 0
            with self.context.timer.stage(
                f"searching ({self.plan.options.systems[system].retriever_name})"
            ) as progress:
                there = [cell for cell in mine if self._fits_a_worker(cell.cell, retriever)]
                for cell, content in self._by_workers(there, retriever):
                    yield cell, Encoded((content,))
                    done += 1
                    progress(done, len(mine))
                answers, sent_away = _Answers(retriever, self.context.executor), set(there)
                for cell in (one for one in mine if one not in sent_away):
                    pools = self._pools(cell.cell, answers, part_of(progress, done, 1, len(mine)))
                    for pool, last in pools:
                        yield cell, pool if last else Part((pool,))
                    done += 1
                    progress(done, len(mine))

    def _fits_a_worker(self, cell: Cell, retriever: Retriever) -> bool:
        """Return whether a worker searches and pools all of a cell: larger pools are put together here, in parts."""
        away = searches_elsewhere(retriever, self.context.executor)
        return away and self.obfuscate.variants(cell) * self.plan.depth(cell) <= _MOST_POOLED

    def _by_workers(self, cells: Sequence[SystemCell], retriever: Retriever) -> Iterator[tuple[SystemCell, bytes]]:
        """Yield the encoded pools of cells, some of which one worker searches for: neighbors send the same texts."""
        executor = self.context.executor
        answers = max((self.obfuscate.variants(one.cell) * self.plan.depth(one.cell) for one in cells), default=1)
        spans = slices(len(cells), executor.parts(), most=max(1, _MOST_KEPT // max(1, answers)))
        items = (
            _Unit(
                retriever,
                Plain([(self.obfuscate.sent(one.cell), self.plan.depth(one.cell)) for one in cells[span]]),
                Plain(self.plan.places),
            )
            for span in spans
        )
        for number, contents in executor.map(_searched_and_pooled, items) if cells else ():
            yield from zip(cells[spans[number]], contents, strict=True)

    def _pools(self, cell: Cell, answers: "_Answers", progress: Progress | None) -> Iterator[tuple[pd.DataFrame, bool]]:
        """Yield the pools of some queries after the other, in the order of the plan, and whether they are the last."""
        sent, depth = self.obfuscate.sent(cell), self.plan.depth(cell)
        places = places_of(sent, self.plan.places)
        variants = np.bincount(places, minlength=len(self.plan.queries))
        spans = spans_of(variants.tolist(), _MOST_POOLED / depth)
        for number, span in enumerate(spans):
            some = sent if len(spans) == 1 else sent[(places >= span.start) & (places < span.stop)]
            rankings = answers.to(some["query"].tolist(), depth, part_of(progress, number, 1, len(spans)))
            yield _pooled(some, rankings, self.plan.places), number + 1 == len(spans)

    def retriever(self, system: int) -> Retriever:
        """Return a search system; what an engine over the network has answered is kept in the folder of the run."""
        spec: SystemSpec = self.plan.options.systems[system]
        with self.context.timer.stage_if_needed(f"indexing ({spec.retriever_name})", "documents") as progress:
            return spec.load_retriever(
                self.plan.collection,
                store_of=self.context.store_of,
                answers=self.answers,
                progress=progress,
            )

    @property
    def answers(self) -> Path:
        """Return the folder of what engines over the network have answered."""
        return self.context.artifacts.folder / "answers"

    def documents_pooled(self, cell: Cell) -> float:
        """Return how many documents were pooled per query, in the mean; of several systems the most."""
        sizes = []
        for system in range(len(self.plan.options.systems)):
            with self.reader(SystemCell(system, cell)) as pool:
                sizes.append(len(pool))
        return max(sizes) / len(self.plan.queries)


class _Answers:
    """What a search system answered, as far as it is kept: cells send many of the same texts."""

    def __init__(self, retriever: Retriever, executor: Executor) -> None:
        self._retriever, self._executor = retriever, executor
        self._known: dict[tuple[str, int], Ranking] = {}
        self._documents = 0

    def to(self, texts: Sequence[str], depth: int, progress: Progress | None) -> dict[str, Ranking]:
        """Return the answers to texts, asking for those alone that are not known."""
        if self._documents > _MOST_KEPT:
            self._known.clear()
            self._documents = 0
        new = [text for text in dict.fromkeys(texts) if (text, depth) not in self._known]
        for text, ranking in search_distinct(new, self._retriever, depth, progress, self._executor).items():
            self._known[text, depth] = Ranking(ranking.docnos, np.empty(0))  # a pool discards the scores
            self._documents += len(ranking.docnos)
        return {text: self._known[text, depth] for text in texts}


def _pooled(sent: pd.DataFrame, rankings: Mapping[str, Ranking], places: Mapping[str, int]) -> pd.DataFrame:
    """Return the pool of answers to what was sent, its queries in the order of the plan."""
    pool = fused_pool(sent, rankings)
    order = np.argsort(places_of(pool, places), kind="stable")
    return pool.iloc[order].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class _Unit:
    """What some cells sent, and how deep each is searched."""

    retriever: Retriever
    cells: Plain[list[tuple[pd.DataFrame, int]]]
    places: Plain[Mapping[str, int]]


def _searched_and_pooled(unit: _Unit) -> list[bytes]:
    answers = _Answers(unit.retriever, Local())
    pools = ((sent, answers.to(sent["query"].tolist(), depth, None)) for sent, depth in unit.cells.content)
    return [encoded(_pooled(sent, rankings, unit.places.content)) for sent, rankings in pools]
