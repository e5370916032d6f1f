"""What each guesser learns about the need behind the queries: by consensus of the engine's lists, and by each attacker.

Guesses are searched with BM25 over the collection's documents, on this machine: an engine over the network would
receive originals. The list of an original, by which `Consensus` is measured, is the one that was retrieved for
`Identity`; where originals are not sent, it is BM25's.
"""

import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from quipukit.errors import InputError, ResourceError
from quipukit.executors.shared import Plain
from quipukit.experiment.cells import AttackCell, Cell, SystemCell
from quipukit.experiment.stages.base import Context, Stage
from quipukit.frames import SETTING
from quipukit.io.parts import PartReader, spans_of
from quipukit.measures.guessers import CONSENSUS, GUESS, Guess, lists_of, own_lists
from quipukit.measures.need import guess_similarities, ndcgs, need_rows, need_table, scored_rows
from quipukit.measures.utility import relevant_documents
from quipukit.progress import part_of
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.remembered import RememberedScores
from quipukit.retrieval.system import SystemSpec
from quipukit.settings import ORIGINAL

if TYPE_CHECKING:
    from quipukit.experiment.stages.attack import Attack
    from quipukit.experiment.stages.retrieve import Retrieve
    from quipukit.experiment.stages.text_similarity import TextSimilarity

# Where nothing else needs an index of the documents, none is built for more of them: it takes about a minute.
MOST_DOCUMENTS = 1_000_000
# Documents of lists that are held at once: some hundred bytes each.
_MOST_DOCUMENTS_HELD = 1_000_000


class NeedCell(NamedTuple):
    """A cell, searched by one system and guessed by one attacker (by their numbers)."""

    system: int
    attacker: int
    cell: Cell


class Need(Stage[NeedCell]):
    """Caches `quipukit.need_leakage` by guesses; only with judgments, and with documents on this machine.

    The consensus is computed from the pools when it is asked for: that is quicker than to save it and to read it again.
    """

    name = "need"

    def __init__(
        self, context: Context, retrieve: "Retrieve", attack: "Attack", text_similarity: "TextSimilarity"
    ) -> None:
        super().__init__(context)
        self.retrieve, self.attack, self.text_similarity = retrieve, attack, text_similarity
        self._references: dict[tuple[int, int, Cell | None], Mapping[str, float]] = {}
        self._fused: dict[SystemCell, dict[str, float]] = {}

    @property
    def cells(self) -> Sequence[NeedCell]:
        plan = self.plan
        if not (plan.judged and self._local):
            return []
        return [
            NeedCell(system, attacker, cell)
            for system in range(len(plan.options.systems))
            for attacker in range(len(plan.attackers))
            for cell in plan.cells
        ]

    def depends_on(self, cell: NeedCell) -> Any:
        prints, system = self.plan.fingerprints, self.plan.options.systems[cell.system]
        searched = [prints["collection"], self.plan.depth(cell.cell), system.reranker_name, system.reranker_fingerprint]
        guessed = self.attack.key(AttackCell(cell.attacker, cell.cell))
        return [prints["queries"], prints["qrels"], searched, guessed, self.text_similarity.encoder.fingerprint]

    def compute(self, missing: Sequence[NeedCell]) -> Iterator[tuple[NeedCell, pd.DataFrame]]:
        for attacker in dict.fromkeys(cell.attacker for cell in missing):
            mine = [cell for cell in missing if cell.attacker == attacker]
            guesses = {cell: self._guesses(attacker, cell) for cell in dict.fromkeys(cell.cell for cell in mine)}
            pairs = [pair for own in guesses.values() for pair in own.items()]
            alike = guess_similarities(pairs, self._texts, self._encoded)
            for system in dict.fromkeys(cell.system for cell in mine):
                yield from self._guessed([cell for cell in mine if cell.system == system], guesses, alike)

    def table(self) -> pd.DataFrame:
        """Return what all guessers find, in the order of the plan, with the columns of a result."""
        plan = self.plan
        parts = []
        for cell in plan.system_cells if plan.judged else ():
            if self._local or self._identity(cell.cell) is not None:
                parts.append((self._named(cell, CONSENSUS), self._consensus(cell)))
        for guessed in self.cells:
            attacker = self.attack.panel.names[guessed.attacker]
            names = self._named(SystemCell(guessed.system, guessed.cell), GUESS, attacker)
            parts.append((names, self.load(guessed)))
        return need_table(parts)

    def _named(self, cell: SystemCell, guesser: str, attacker: str = "") -> dict[str, Any]:
        system = {"system": self.plan.options.systems[cell.system].name}
        own = {"seed": cell.cell.seed, "n": cell.cell.setting.n, **cell.cell.setting.columns}
        return {**system, **own, "guesser": guesser, "attacker": attacker}

    # --- the two guessers ---

    def _consensus(self, cell: SystemCell) -> pd.DataFrame:
        return scored_rows(self._fused_scores(cell), self._own_consensus(cell))

    def _own_consensus(self, cell: SystemCell) -> Mapping[str, float]:
        """Return nDCG@10 of the engine's list for each original."""
        identity, depth = self._identity(cell.cell), self.plan.depth(cell.cell)
        known = (cell.system, depth, identity)
        if known not in self._references:
            if identity is None:
                scores: Mapping[str, float] = ndcgs(own_lists(self._texts, self._index, depth), self._judged)
            else:
                scores = self._fused_scores(SystemCell(cell.system, identity))
            self._references[known] = {qid: scores[qid] for qid in self._judged}
        return self._references[known]

    def _fused_scores(self, cell: SystemCell) -> dict[str, float]:
        """Return nDCG@10 of the fused lists of a cell."""
        if cell not in self._fused:
            with self.retrieve.reader(cell) as pool:
                self._fused[cell] = fused_scores(pool, self._judged, self.plan.places)
        return self._fused[cell]

    def run(self) -> None:
        """Compute and save what is missing; and let workers, where there are any, measure the fused lists."""
        super().run()
        executor, retrieve = self.context.executor, self.retrieve
        if executor.in_process or not self.plan.judged:
            return
        cells = [cell for cell in self.plan.system_cells if cell not in self._fused]
        with self.context.timer.stage("measuring the consensus") as progress:
            pools = (self.context.artifacts.content(retrieve.tables[-1], retrieve.key(cell)) for cell in cells)
            items = (Plain(_Fused(content, self._judged, self.plan.places)) for content in pools)
            for done, (number, scores) in enumerate(executor.map(_fused_scores, items), 1):
                self._fused[cells[number]] = scores
                progress(done, len(cells))

    def _guesses(self, attacker: int, cell: Cell) -> dict[str, str]:
        """Return an attacker's first guess for every judged query of a cell."""
        guesses = self.attack.first_guesses(AttackCell(attacker, cell))
        return {qid: text for qid, text in guesses.items() if qid in self._judged}

    def _guessed(
        self,
        cells: Sequence[NeedCell],
        guesses: Mapping[Cell, Mapping[str, str]],
        similarities: Mapping[tuple[str, str], float],
    ) -> Iterator[tuple[NeedCell, pd.DataFrame]]:
        """Yield the tables of cells of one attacker and one system."""
        spec: SystemSpec = self.plan.options.systems[cells[0].system]
        scorer = None
        if spec.reranks:
            scorer = RememberedScores(spec.load_scorer(self.plan.collection, store_of=self.context.store_of))
        by_depth: dict[int, list[NeedCell]] = {}
        for cell in cells:
            by_depth.setdefault(self.plan.depth(cell.cell), []).append(cell)
        for depth, mine in by_depth.items():
            guess, rows = Guess(self._index, scorer, depth), dict[NeedCell, list[pd.DataFrame]]()
            spans = spans_of([depth * (len(mine) + 1)] * len(self._judged), _MOST_DOCUMENTS_HELD)
            title = (
                f"re-ranking for the guesses ({spec.reranker_name})" if spec.reranks else "searching with the guesses"
            )
            with self.context.timer.stage(title, "documents") as progress:
                for number, span in enumerate(spans):
                    part = progress if len(spans) == 1 else part_of(progress, number, 1, len(spans))
                    originals = dict(list(self._texts.items())[span])
                    own = {
                        cell: {qid: text for qid, text in guesses[cell.cell].items() if qid in originals}
                        for cell in mine
                    }
                    texts = [*originals.values(), *(text for cell in mine for text in own[cell].values())]
                    found = guess.lists(texts, part, self.context.executor)
                    judged = {qid: self._judged[qid] for qid in originals}
                    references = ndcgs({qid: found[text] for qid, text in originals.items()}, judged)
                    for cell in mine:
                        lists = {qid: found[text] for qid, text in own[cell].items()}
                        alike = {pair: similarities[pair] for pair in own[cell].items()}
                        rows.setdefault(cell, []).append(need_rows(lists, references, judged, alike))
                    if scorer is not None:
                        scorer.forget()
            for cell in mine:
                yield cell, pd.concat(rows[cell], ignore_index=True)

    # --- what they work with ---

    @functools.cached_property
    def _judged(self) -> dict[str, dict[str, int]]:
        qids = self.plan.queries["qid"].tolist()
        judged = relevant_documents(self.plan.qrels, qids)
        return {qid: judged[qid] for qid in qids if qid in judged}

    @functools.cached_property
    def _texts(self) -> dict[str, str]:
        queries = self.plan.queries
        return {qid: text for qid, text in zip(queries["qid"], queries["query"], strict=True) if qid in self._judged}

    def _identity(self, cell: Cell) -> Cell | None:
        """Return the cell that sent the originals: that of the same seed and N, so that others may be added later."""
        originals = [one for one in self.plan.cells if one.setting.mechanism == ORIGINAL and one.seed == cell.seed]
        same = (one for one in originals if one.setting.n == cell.setting.n)
        return next(same, originals[0] if originals else None)

    def _encoded(self, texts: list[str]) -> Any:
        return self.context.store_of(self.text_similarity.encoder).ensure(texts, "query")

    @functools.cached_property
    def _index(self) -> BM25:
        with self.context.timer.stage_if_needed("indexing (bm25)", "documents") as progress:
            return BM25.of(self.plan.collection, progress=progress)

    @functools.cached_property
    def _local(self) -> bool:
        """Return whether guesses can be searched on this machine; say why not, once."""
        plan, reason = self.plan, ""
        searched = any(system.retriever_name == "bm25" for system in plan.options.systems)
        if not len(plan.collection):
            reason = f"{plan.collection.name} has none"
        elif not searched and len(plan.collection) > MOST_DOCUMENTS:
            reason = f"{plan.collection.name} has more than {MOST_DOCUMENTS:,} documents, and no system is bm25"
        else:
            try:
                _ = self._index
            except (InputError, ResourceError) as fault:
                reason = str(fault)
        if reason:
            self.context.timer.listener.say(
                f"need leakage: guesses are not searched, for that needs the documents on this machine ({reason})"
            )
        return not reason


@dataclass(frozen=True, eq=False)
class _Fused:
    """An encoded pool with fused scores, and the judgments by which its lists are measured."""

    content: bytes
    judged: Mapping[str, Mapping[str, int]]
    places: Mapping[str, int]


def _fused_scores(given: "Plain[_Fused]") -> dict[str, float]:
    item = given.content
    with PartReader(io.BytesIO(item.content)) as pool:
        return fused_scores(pool, item.judged, item.places)


def fused_scores(
    pool: PartReader, judged: Mapping[str, Mapping[str, int]], places: Mapping[str, int]
) -> dict[str, float]:
    """Return nDCG@10 of a cell's fused lists; the lists of some queries are made after those of others."""
    qids, scores = list(places), dict[str, float]()
    rows = pool.cursor(places, (*SETTING, "qid", "docno", "fused"))
    for span in spans_of([len(pool) / len(qids)] * len(qids), _MOST_DOCUMENTS_HELD):
        lists = {key[-1]: own for key, own in lists_of(rows.upto(span.stop), "fused").items()}
        scores |= ndcgs(lists, {qid: judged[qid] for qid in qids[span] if qid in judged})
    return scores
