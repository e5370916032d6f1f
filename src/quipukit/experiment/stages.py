"""The stages of an experiment: each turns finished pieces into new ones, and leaves alone what is there.

| stage | a piece for every | depends on |
|---|---|---|
| obfuscate | seed, setting | queries, n, noise, spec, vectors or WordNet |
| pool | system, seed, setting | the obfuscated queries, collection, retriever, depth |
| utility | system, seed, setting | the pool, queries, re-ranker, judgments, measures |
| ceiling | system, seed, setting | what pool and utility depend on |
| attack | seed, setting | the obfuscated queries, queries, log, encoder |
| likeness | seed, setting | the obfuscated queries, queries, the encoder of sentence similarity |
| guesses | setting | what the attack depends on, and the example queries |
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from quipukit.attackers.panel import Panel
from quipukit.encoders.base import Encoder
from quipukit.encoders.distributed import distributed
from quipukit.encoders.load import load_encoder
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.executors.base import Executor
from quipukit.executors.local import Local
from quipukit.experiment.ceilings import depths_of, first_documents
from quipukit.experiment.codeprint import code_of, code_of_object
from quipukit.experiment.inputs import SIMILARITY, Inputs, Options, Setting
from quipukit.experiment.likeness import likeness
from quipukit.experiment.pieces import Pieces, name_of
from quipukit.frames import NOTES, OBFUSCATED, RANKED, RANKS, SCORES, SETTING
from quipukit.measures.quipu import ORIGINAL
from quipukit.measures.utility import utility
from quipukit.mechanisms.base import RESOURCES, Mechanism
from quipukit.obfuscation import obfuscate_groups
from quipukit.progress import Progress, StageTimer
from quipukit.retrieval.base import Retriever, Scorer
from quipukit.retrieval.credentials import check_one_host
from quipukit.retrieval.engines import read_spec
from quipukit.retrieval.http import HttpEngine
from quipukit.retrieval.load import is_address, load_retriever, load_scorer, plugin_system
from quipukit.retrieval.pool import search_distinct
from quipukit.retrieval.saved import Saved

# Answers to distinct queries that are kept in memory, to be shared by the cells: some hundred bytes each.
_KEPT_ANSWERS = 200_000

# A search engine shows no more than the first ten thousand documents, unless its owner has asked it to.
_ENGINE_WINDOW = 10_000

_Name = Callable[..., str]


def _once(name: _Name) -> _Name:
    """Compute a name once: inputs do not change under a run, and some names are hashes over thousands of texts."""

    @functools.wraps(name)
    def known(self: "Stages", *of: Any) -> str:
        place = (name.__name__, *of)
        if place not in self._names:
            self._names[place] = name(self, *of)
        return self._names[place]

    return known


@dataclass(frozen=True)
class Cell:
    """One setting under one seed: the unit of what is finished."""

    seed: int
    setting: Setting

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a frame that belong to the setting."""
        mechanism, _, value = self.setting.key
        return frame[(frame["mechanism"] == mechanism) & (frame["value"] == value)].reset_index(drop=True)


@dataclass
class Stages:
    """An experiment in progress: what it starts from, what it has, and how it is watched."""

    inputs: Inputs
    pieces: Pieces
    clock: StageTimer
    executor: Executor = field(default_factory=Local)
    _answers: dict[str, list[str]] = field(default_factory=dict)
    _names: dict[tuple[Any, ...], str] = field(default_factory=dict)

    @cached_property
    def cells(self) -> list[Cell]:
        """Return all cells in the order of the plan."""
        return [Cell(seed, setting) for seed in self.inputs.seeds for setting in self.inputs.settings]

    def go_on_with(self, inputs: Inputs) -> None:
        """Go on with fewer settings than the experiment began with."""
        self.inputs = inputs
        del self.cells

    @cached_property
    def store(self) -> PrivateStore:
        """Return the vectors of the attacker's encoder."""
        return self._kept_here(self.inputs.encoder)

    @cached_property
    def panel(self) -> Panel:
        """Return the attackers, who know the log."""
        return Panel(["QuIA"], self.inputs.log, encoder=self.inputs.encoder, store_of=lambda _: self.store)

    @cached_property
    def similarity_store(self) -> PrivateStore:
        """Return the vectors by which sentence similarity is defined."""
        return self._store_of(SIMILARITY)

    def _store_of(self, name: str) -> PrivateStore:
        """Return the vectors of an encoder; those of the attacker's, where it is the same model."""
        encoder = load_encoder(name)
        same = encoder.fingerprint == self.inputs.encoder.fingerprint
        return self.store if same else self._kept_here(encoder)

    def _kept_here(self, encoder: Encoder) -> PrivateStore:
        """Return vectors that are kept with the pieces, before those of the cache that all experiments share."""
        return PrivateStore(
            EncodingStore(distributed(encoder, self.executor)), self.pieces.folder / "pieces" / "vectors"
        )

    # --- names ---

    @_once
    def obfuscated_name(self, cell: Cell) -> str:
        """Return the name of the piece that holds a cell's obfuscated queries."""
        inputs, mechanism = self.inputs, cell.setting.bound
        if mechanism is None:
            assert inputs.given is not None
            content = cell.of(inputs.given)[["qid", "variant", "query"]].to_dict("list")
            return name_of("given", cell.setting.key, content, inputs.prints["queries"])
        chosen = [repr(mechanism.spec), inputs.options.n, cell.seed, inputs.options.noise]
        code = [code_of("obfuscate"), code_of_object(type(mechanism))]
        return name_of("obfuscate", code, inputs.prints["queries"], chosen, _resources(mechanism))

    @_once
    def pool_name(self, system: int, cell: Cell) -> str:
        """Return the name of the piece that holds what a system found for a cell."""
        retriever, _ = self.inputs.options.systems[system]
        found_by = [retriever, _system_print(retriever), self.inputs.prints["collection"], self.inputs.depth]
        return name_of("pool", code_of("pool"), self._sent(cell), found_by)

    @_once
    def utility_name(self, system: int, cell: Cell) -> str:
        """Return the name of the piece that holds a cell's utility under a system."""
        _, reranker = self.inputs.options.systems[system]
        pool = self.pieces.digest("pool", self.pool_name(system, cell))
        prints = self.inputs.prints
        ranked_by = [reranker, _model_print(reranker), prints["collection"], prints["queries"]]
        judged = [prints["qrels"], self.inputs.options.measures]
        return name_of("utility", code_of("utility"), pool, cell.setting.key, ranked_by, judged)

    @_once
    def ceiling_name(self, system: int, cell: Cell) -> str:
        """Return the name of the piece that holds what the original finds among as many documents as a cell pooled."""
        return name_of("ceiling", code_of("ceiling"), self.pool_name(system, cell), self.utility_name(system, cell))

    @_once
    def attack_name(self, cell: Cell) -> str:
        """Return the name of the piece that holds a cell's ranks."""
        prints = self.inputs.prints
        known = [prints[name] for name in ("queries", "log", "encoder")]
        # With the setting: where two of them send nothing at all, what they sent is the same.
        return name_of("attack", code_of("attack"), self._sent(cell), cell.setting.key, known)

    @_once
    def likeness_name(self, cell: Cell) -> str:
        """Return the name of the piece that holds how near a cell's queries stay to the originals."""
        bound = cell.setting.bound
        law = [] if bound is None else [repr(bound.spec), code_of_object(type(bound)), *_resources(bound)]
        known = [self.inputs.prints["queries"], _fingerprint(SIMILARITY)]
        return name_of("likeness", code_of("likeness"), self._sent(cell), known, law)

    @_once
    def guesses_name(self, cell: Cell) -> str:
        """Return the name of the piece that holds what the attacker would guess for the example queries."""
        return name_of("guesses", self.attack_name(cell), self.inputs.examples)

    def _sent(self, cell: Cell) -> str:
        return self.pieces.digest("obfuscated", self.obfuscated_name(cell))

    # --- stages ---

    def obfuscate(self) -> None:
        """Obfuscate the queries of every cell that is not there; settings that can share work do."""
        done = [self.has_obfuscated(cell) for cell in self.cells]
        missing = [cell for cell, there in zip(self.cells, done, strict=True) if not there]
        given = [cell for cell in missing if cell.setting.bound is None]
        with self.clock.stage("obfuscating") as show:
            for cell in given:
                assert self.inputs.given is not None
                self._save_obfuscated(cell, cell.of(self.inputs.given), NOTES.empty())
            finished = len(given)
            for seed in self.inputs.seeds:
                mine = [(cell, cell.setting.bound) for cell in missing if cell.seed == seed]
                bound = [mechanism for _, mechanism in mine if mechanism is not None]
                by_spec = {mechanism.spec: cell for cell, mechanism in mine if mechanism is not None}
                options = self.inputs.options

                def tell(done: float, total: float, before: int = finished, count: int = len(bound)) -> None:
                    show(before + count * done / max(total, 1), len(missing))

                for members, part in obfuscate_groups(
                    self.inputs.queries,
                    bound,
                    options.n,
                    seed=seed,
                    noise=options.noise,
                    progress=tell,
                    executor=self.executor,
                ):
                    for member in members:
                        cell = by_spec[member.spec]
                        self._save_obfuscated(cell, cell.of(part.table), cell.of(part.notes))
                    finished += len(members)
                    show(finished, len(missing))

    def has_obfuscated(self, cell: Cell) -> bool:
        """Tell whether the obfuscated queries of a cell are there."""
        name = self.obfuscated_name(cell)
        return self.pieces.has("notes", name) and self.pieces.has("obfuscated", name)

    def _save_obfuscated(self, cell: Cell, table: pd.DataFrame, flags: pd.DataFrame) -> None:
        name = self.obfuscated_name(cell)
        self.pieces.save("notes", name, flags)
        self.pieces.save("obfuscated", name, table)

    def obfuscated(self, cell: Cell) -> pd.DataFrame:
        """Return the obfuscated queries of a cell."""
        return OBFUSCATED.check(self.pieces.load("obfuscated", self.obfuscated_name(cell)))

    def notes(self, cell: Cell) -> pd.DataFrame:
        """Return the notes of a cell."""
        return NOTES.check(self.pieces.load("notes", self.obfuscated_name(cell)))

    def encode(self) -> None:
        """Encode what the attacker sees: the log, and the distinct obfuscated queries of all cells not yet attacked."""
        attacked = [self.pieces.has("attack", self.attack_name(cell)) for cell in self.cells]
        missing = [cell for cell, there in zip(self.cells, attacked, strict=True) if not there]
        if not missing:
            return
        with self.clock.stage("encoding the log", "queries") as show:
            self.panel.prepare(show)
        with self.clock.stage("encoding obfuscated queries", "queries") as show:
            texts = dict.fromkeys(text for cell in missing for text in self.obfuscated(cell)["query"])
            self.panel.encode(list(texts), show)

    def search(self) -> None:
        """Ask every system for every distinct obfuscated query, and pool the answers by query."""
        for system in range(len(self.inputs.options.systems)):
            missing = [cell for cell in self.cells if not self.pieces.has("pool", self.pool_name(system, cell))]
            if not missing:
                continue
            self._answers.clear()
            retriever = self._retriever(system)
            with self.clock.stage(f"searching ({self.inputs.options.systems[system][0]})") as show:
                for number, cell in enumerate(missing):

                    def part(done: float, of: float, before: int = number, total: int = len(missing)) -> None:
                        show(before + done / max(of, 1), total)

                    pool = self._pooled(cell, retriever, part)
                    self.pieces.save("pool", self.pool_name(system, cell), pool)
                    show(number + 1, len(missing))

    def _pooled(self, cell: Cell, retriever: Retriever, show: Progress) -> pd.DataFrame:
        """Return the pool of a cell: qid and docno, sorted, each document once."""
        sent = self.obfuscated(cell)
        texts = list(dict.fromkeys(sent["query"]))
        new = [text for text in texts if text not in self._answers]
        if len(self._answers) > _KEPT_ANSWERS:
            self._answers.clear()
            new = texts
        found = search_distinct(new, retriever, self.inputs.depth, show, self.executor)
        self._answers.update((text, ranking.docnos) for text, ranking in found.items())
        answers = self._answers
        rows: list[tuple[str, list[str]]] = []
        for qid, group in sent.groupby("qid", sort=True):
            rows.append((str(qid), sorted({docno for text in group["query"] for docno in answers[text]})))
        counts = [len(docnos) for _, docnos in rows]
        return pd.DataFrame(
            {
                "qid": np.repeat(np.array([qid for qid, _ in rows], object), counts),
                "docno": np.array([docno for _, docnos in rows for docno in docnos], object),
            }
        )

    def _retriever(self, system: int) -> Retriever:
        name = self.inputs.options.systems[system][0]
        kind, _, model = name.partition(":")
        if kind == "dense":
            from quipukit.retrieval.dense import Dense

            # An obfuscated query that the attacker encoded is not encoded again.
            store = self._store_of(model or "minilm")
            return Dense(self.inputs.collection, store=store.shared, queries=store)
        found = load_retriever(name, self.inputs.collection)
        # An engine may die in mid-run; what it has answered is kept, and the next run asks only for the rest.
        return Saved(found, self.pieces.folder / "answers") if isinstance(found, HttpEngine) else found

    def measure(self) -> None:
        """Re-rank every pool with the original query, and measure what the user finds; nothing without judgments."""
        if self.inputs.qrels.empty:
            return
        for system, (_, reranker) in enumerate(self.inputs.options.systems):
            names = {cell: self.utility_name(system, cell) for cell in self.cells}
            missing = [cell for cell in self.cells if not self.pieces.has("utility", names[cell])]
            if not missing:
                continue
            pools = {cell: self.pieces.load("pool", self.pool_name(system, cell)) for cell in missing}
            scorer = self._scorer(reranker)
            with self.clock.stage(f"re-ranking ({reranker})", "documents") as show:
                scores = _pair_scores(pools.values(), self.inputs.queries, scorer, show)
            with self.clock.stage("measuring utility") as show:
                for number, cell in enumerate(missing, 1):
                    found = self._utility(cell, pools.pop(cell), scores)
                    self.pieces.save("utility", names[cell], found)
                    show(number, len(missing))

    @property
    def has_ceilings(self) -> bool:
        """Tell whether the originals are searched for: with judgments, and where they are sent anyway (Identity)."""
        planned = any(setting.mechanism == ORIGINAL for setting in self.inputs.settings)
        return planned and not self.inputs.qrels.empty

    def measure_ceilings(self) -> None:
        """Measure what the original queries find among as many documents as each cell pooled."""
        if not self.has_ceilings:
            return
        qids = self.inputs.queries["qid"].tolist()
        for system, (_, reranker) in enumerate(self.inputs.options.systems):
            names = {cell: self.ceiling_name(system, cell) for cell in self.cells}
            missing = [cell for cell in self.cells if not self.pieces.has("ceiling", names[cell])]
            if not missing:
                continue
            pools = (self.pieces.load("pool", self.pool_name(system, cell)) for cell in missing)
            depths = [depths_of(pool, qids, self.inputs.depth) for pool in pools]
            with self.clock.stage("searching with the originals") as show:
                deepest = {qid: max(each[qid] for each in depths) for qid in qids}
                rankings = self._originals(system, max(deepest.values()), show)
            with self.clock.stage(f"re-ranking for the originals ({reranker})", "documents") as show:
                whole = first_documents(rankings, deepest)
                scores = _pair_scores([whole], self.inputs.queries, self._scorer(reranker), show)
            with self.clock.stage("measuring the originals") as show:
                for number, (cell, depth) in enumerate(zip(missing, depths, strict=True), 1):
                    found = self._utility(cell, first_documents(rankings, depth), scores)
                    self.pieces.save("ceiling", names[cell], found.assign(side="ceiling"))
                    show(number, len(missing))

    def _originals(self, system: int, depth: int, show: Progress) -> dict[str, list[str]]:
        """Return the documents that a system finds for every original query, best first."""
        queries = self.inputs.queries
        texts = list(dict.fromkeys(queries["query"]))
        retriever = self._retriever(system)
        most = _ENGINE_WINDOW if isinstance(retriever, Saved) else depth
        found = retriever.search(texts, min(depth, most, len(self.inputs.collection)), show)
        answers = {text: ranking.docnos for text, ranking in zip(texts, found, strict=True)}
        return {qid: answers[text] for qid, text in zip(queries["qid"], queries["query"], strict=True)}

    def pooled(self, cell: Cell) -> float:
        """Return how many documents were pooled per query, in the mean; of several systems the most."""
        systems = range(len(self.inputs.options.systems))
        sizes = [len(self.pieces.load("pool", self.pool_name(system, cell))) for system in systems]
        return max(sizes) / len(self.inputs.queries)

    def _scorer(self, name: str) -> Scorer:
        if name == "bm25":
            return load_scorer(name, self.inputs.collection)
        from quipukit.retrieval.dense import DenseScorer

        model = name.removeprefix("dense:") if name != "dense" else "minilm"
        return DenseScorer(self.inputs.collection, store=self._store_of(model))

    def _utility(self, cell: Cell, pool: pd.DataFrame, scores: "Mapping[str, PairScores]") -> pd.DataFrame:
        setting = dict(zip(SETTING, cell.setting.key, strict=True))
        parts = []
        for qid, group in pool.groupby("qid", sort=False):
            docnos = group["docno"].to_numpy(object)
            score = scores[str(qid)].of(docnos)
            # Pools are sorted by docno, so that a stable sort by score breaks ties by docno.
            order = np.argsort(-score, kind="stable")
            parts.append(
                pd.DataFrame(
                    {"qid": str(qid), "docno": docnos[order], "score": score[order], "rank": np.arange(len(order))}
                )
            )
        ranked = pd.concat(parts).assign(**setting) if parts else RANKED.empty()
        only = pd.DataFrame([setting])
        return SCORES.check(utility(ranked, self.inputs.qrels, self.inputs.options.measures, only))

    def attack(self) -> None:
        """Rank the log for every cell: one pass for all cells of a seed."""
        for seed in self.inputs.seeds:
            names = {cell: self.attack_name(cell) for cell in self.cells if cell.seed == seed}
            missing = [cell for cell, name in names.items() if not self.pieces.has("attack", name)]
            if not missing:
                continue
            settings = pd.DataFrame([cell.setting.key for cell in missing], columns=list(SETTING))
            with self.clock.stage("ranking the log", "queries") as show:
                queries = self.inputs.queries
                sent = self._sent_by(missing)
                ranks = self.panel.ranks(sent, queries, settings=settings, progress=show, executor=self.executor)
                for cell in missing:
                    self.pieces.save("attack", names[cell], RANKS.check(cell.of(ranks)))

    def guess(self) -> None:
        """Keep the attacker's best guesses for the example queries, under the first seed."""
        mine = [cell for cell in self.cells if cell.seed == self.inputs.seeds[0]]
        missing = [cell for cell in mine if not self.pieces.has("guesses", self.guesses_name(cell))]
        if not missing:
            return
        with self.clock.stage("guessing the examples"):
            queries = self.inputs.queries
            examples = queries[queries["qid"].isin(self.inputs.examples)]
            sent = self._sent_by(missing)
            guesses = self.panel.guesses(sent[sent["qid"].isin(set(examples["qid"]))], examples, 5)
            for cell in missing:
                self.pieces.save("guesses", self.guesses_name(cell), cell.of(guesses))

    def _sent_by(self, cells: Sequence[Cell]) -> pd.DataFrame:
        return pd.concat([self.obfuscated(cell) for cell in cells], ignore_index=True)

    def compare_texts(self) -> None:
        """Measure how near the obfuscated queries stay to the originals, in words and in meaning."""
        missing = [cell for cell in self.cells if not self.pieces.has("likeness", self.likeness_name(cell))]
        if not missing:
            return
        store = self.similarity_store
        with self.clock.stage("comparing texts") as show:
            for number, cell in enumerate(missing, 1):
                sent = self.obfuscated(cell)
                row = likeness(sent, self.inputs.queries, cell.setting.bound, store)
                self.pieces.save("likeness", self.likeness_name(cell), row)
                show(number, len(missing))


@dataclass(frozen=True, eq=False)
class PairScores:
    """The scores of all documents that were pooled for one query."""

    docnos: "np.ndarray[Any, Any]"  # sorted
    scores: "np.ndarray[Any, np.dtype[np.float64]]"

    def of(self, docnos: "np.ndarray[Any, Any]") -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Return the scores of some of them."""
        return self.scores[np.searchsorted(self.docnos, docnos)]


def _pair_scores(
    pools: Iterable[pd.DataFrame], queries: pd.DataFrame, scorer: Scorer, show: Progress
) -> dict[str, PairScores]:
    """Score every (query, document) pair once, whichever cells pooled it."""
    found: dict[str, set[str]] = {}
    for pool in pools:
        for qid, group in pool.groupby("qid", sort=False):
            found.setdefault(str(qid), set()).update(group["docno"])
    texts = dict(zip(queries["qid"], queries["query"], strict=True))
    ordered = {qid: sorted(docnos) for qid, docnos in found.items()}
    scores = scorer.score_many([(texts[qid], docnos) for qid, docnos in ordered.items()], show)
    return {
        qid: PairScores(np.array(docnos, object), score)
        for (qid, docnos), score in zip(ordered.items(), scores, strict=True)
    }


def check_models(options: Options) -> list[tuple[str, str]]:
    """Find every model that is named: one that is missing should be told before hours of work. Return fingerprints."""
    addresses = [retriever for retriever, _ in options.systems if is_address(retriever)]
    check_one_host(read_spec(address).address for address in addresses)
    for address in addresses:
        load_retriever(address)  # and what is wrong with its login
    return [(_system_print(retriever), _model_print(reranker)) for retriever, reranker in options.systems]


def _system_print(name: str) -> str:
    """Return the fingerprint of what is behind a search system's name: a model, or a plugin's code; or nothing."""
    if name == "bm25" or is_address(name):
        return ""
    return _model_print(name) if name.partition(":")[0] == "dense" else code_of_object(plugin_system(name))


def _model_print(name: str) -> str:
    """Return the fingerprint of the model behind a re-ranker's name; BM25 has none."""
    if name == "bm25":
        return ""
    kind, _, model = name.partition(":")
    return _fingerprint((model or "minilm") if kind == "dense" else name)


@functools.cache
def _fingerprint(encoder: str) -> str:
    """Return the fingerprint of an encoder by name: its files are hashed, so once is enough."""
    return load_encoder(encoder).fingerprint


def _resources(mechanism: Mechanism) -> list[str]:
    """Return the fingerprints of what a mechanism is bound to."""
    found = []
    for name in RESOURCES:
        resource = getattr(mechanism, name, None)
        if resource is not None:
            found.append(str(getattr(resource, "fingerprint", repr(resource))))
    return found
