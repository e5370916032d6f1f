"""How much there is to do: counted where that is possible, and nothing for what is finished or encoded already."""

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from quipukit.attackers.base import Attacker
from quipukit.attackers.planted import LENGTH
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.experiment.cells import AttackCell, Cell, SystemCell
from quipukit.experiment.cost.lengths import first, mean_tokens, spread
from quipukit.experiment.pipeline import Pipeline
from quipukit.mechanisms.noisyrantext import NoisyRANTEXT
from quipukit.mechanisms.perturbation import Perturbation
from quipukit.mechanisms.words import WordMechanism
from quipukit.retrieval.bm25 import BM25
from quipukit.retrieval.fusion import NO_RERANKER
from quipukit.retrieval.load import is_dense, model_of, reranker_plugins
from quipukit.retrieval.snippets import PREFIX
from quipukit.retrieval.system import SystemSpec
from quipukit.settings import ORIGINAL
from quipukit.text import tokenize

# Share of the variants of a query that are new texts: where noise hides anything nearly all, where it is weak few.
NEW_TEXTS = 0.8
# Words on which a law is simulated where it has no closed form; and how the words of a log grow with its queries.
_SIMULATED, _COUNTED, _GROWTH = 12_288, 20_000, 0.3
_MINILM = 384  # dimensions, which the rate of a law is for
_MANY, _SNIPPET_TOKENS = 1_000_000, 60.0  # documents of an engine that has its own, and what is shown of one
# Share of the answers that no other variant found, where the collection is large; in the lists of guesses; and of the
# originals, searched as deep as the largest pools.
NEW_DOCUMENTS, _NEW_GUESSED, _NEW_ORIGINAL = 0.75, 0.2, 0.7


@dataclass(frozen=True)
class Texts:
    """Texts that an encoder has to encode: how many, and how long they are."""

    encoder: Encoder
    count: float
    tokens: float  # of one, in the mean
    rounds: int = 1  # in which they are encoded


class Amounts:
    """What a pipeline has to do."""

    def __init__(self, pipeline: Pipeline, *, looked_up: bool = True) -> None:
        """Look at what is finished; nothing is computed or written.

        With ``looked_up`` texts that are encoded already are not counted, which takes some seconds per million.
        """
        self.pipeline, self.plan, self._looked_up = pipeline, pipeline.context.plan, looked_up
        self.missing: list[Cell] = pipeline.obfuscate.missing()
        undrawn = set(self.missing)
        self.ready = [cell for cell in self.plan.cells if cell not in undrawn]
        attack = pipeline.attack
        self.unattacked = [
            cell
            for cell in self.ready
            if any(not attack.has(AttackCell(number, cell)) for number in range(len(self.plan.attackers)))
        ]

    # --- cells ---

    @property
    def cells(self) -> int:
        """Return how many cells are to be attacked."""
        return len(self.missing) + len(self.unattacked)

    @functools.cached_property
    def unmeasured(self) -> list[SystemCell]:
        """Return the cells whose pools are to be re-ranked."""
        retrieve, utility, ready = self.pipeline.retrieve, self.pipeline.utility, set(self.ready)
        return [one for one in utility.cells if one.cell not in ready or not (retrieve.has(one) and utility.has(one))]

    @property
    def extended(self) -> bool:
        """Return whether some cells are re-ranked and measured already, and others are not."""
        return 0 < len(self.unmeasured) < len(self.pipeline.utility.cells)

    @functools.cached_property
    def unsearched(self) -> list[SystemCell]:
        """Return the cells that are to be searched."""
        ready = set(self.ready)
        return [one for one in self.plan.system_cells if one.cell not in ready or not self.pipeline.retrieve.has(one)]

    # --- what is sent ---

    @functools.cached_property
    def variants(self) -> int:
        """Return how many variants are to be drawn."""
        return len(self.plan.queries) * sum(map(sent_per_query, self.missing))

    @functools.cached_property
    def words(self) -> int:
        """Return how many words they have."""
        return self.query_words * sum(map(sent_per_query, self.missing))

    @functools.cached_property
    def query_words(self) -> int:
        """Return how many words the queries have."""
        return sum(len(tokenize(query)) for query in self.plan.queries["query"])

    @functools.cached_property
    def known_texts(self) -> list[str]:
        """Return the distinct variants that are drawn already, and not attacked."""
        sent = self.pipeline.obfuscate.sent
        return list(dict.fromkeys(text for cell in self.unattacked for text in sent(cell)["query"]))

    @property
    def drawn_texts(self) -> float:
        """Return how many distinct texts are likely among the variants to be drawn."""
        return len(self.plan.queries) * sum(map(texts_per_query, self.missing))

    @functools.cached_property
    def variant_tokens(self) -> float:
        """Return how long a variant is: as the queries are, where none is drawn yet."""
        sample = spread(self.known_texts or self.plan.queries["query"].tolist())
        return mean_tokens(sample, self.plan.encoder)

    def sent_texts(self, encoder: Encoder) -> Texts:
        """Return the variants that an encoder has to encode."""
        return Texts(encoder, self._missing(self.known_texts, encoder) + self.drawn_texts, self.variant_tokens)

    def _missing(self, texts: Sequence[str], encoder: Encoder) -> int:
        return self.pipeline.context.store_of(encoder).missing(texts) if texts and self._looked_up else len(texts)

    # --- the log ---

    @functools.cached_property
    def log(self) -> Texts:
        """Return the queries of the log that are to be encoded."""
        plan = self.plan
        wanted = self.cells and any(getattr(one, "encoder", None) is not None for one in plan.attackers)
        tokens = mean_tokens(spread(plan.log.texts), plan.encoder)
        return Texts(plan.encoder, self._missing(plan.log.texts, plan.encoder) if wanted else 0, tokens)

    def comparisons(self, attackers: Sequence[Attacker]) -> float:
        """Return how often some attackers compare a query of the log with what was sent for one."""
        return float(len(attackers) * self.cells * len(self.plan.queries) * len(self.plan.log))

    @functools.cached_property
    def log_words(self) -> float:
        """Return how many distinct words the log is likely to have, from a part of it."""
        texts = self.plan.log.texts
        words = {word for text in spread(texts, _COUNTED) for word in tokenize(text)}
        return len(words) * max(1.0, len(texts) / _COUNTED) ** _GROWTH

    @functools.cached_property
    def law_pairs(self) -> float:
        """Return how often a word is compared with one of the vocabulary to learn the laws of mechanisms.

        Each setting is learned once, for all seeds and attackers; of a reference nothing has to be.
        """
        pairs = {}
        for cell in (*self.missing, *self.unattacked):
            bound = cell.setting.bound
            if isinstance(bound, WordMechanism) and cell.setting.strategy != "reference":
                words = _SIMULATED if isinstance(bound, Perturbation | NoisyRANTEXT) else self.log_words
                vocabulary = bound.vocabulary
                size = 0 if vocabulary is None else len(vocabulary) * vocabulary.dimension / _MINILM
                pairs[bound.spec] = words * size
        return sum(pairs.values())

    @functools.cached_property
    def rankings_after_fewer(self) -> int:
        """Return how often the log is ranked after fewer variants than were sent, for each query, by all attackers."""
        growth, ready = self.pipeline.growth, set(self.ready)
        todo = [cell for cell in growth.cells if cell.cell not in ready or not growth.has(cell)]
        return sum(len(growth.sizes(cell)) for cell in todo)

    # --- documents ---

    @functools.cached_property
    def document_sample(self) -> list[str]:
        """Return some documents."""
        return first(text for _, text in self.plan.collection.documents())

    @property
    def _size(self) -> int:
        """Return how many documents are searched; those of an engine alone are not counted here, and are many."""
        return len(self.plan.collection) or _MANY

    @functools.cached_property
    def pooled(self) -> float:
        """Return how many documents the pools are likely to hold, all cells and queries together."""
        return self._pooled(self.plan.system_cells)

    @functools.cached_property
    def newly_pooled(self) -> float:
        """Return how many of them belong to cells that are to be searched."""
        return self._pooled(self.unsearched)

    def _pooled(self, cells: Sequence[SystemCell]) -> float:
        return sum(self._pool(cell.cell) for cell in cells) * len(self.plan.queries)

    def _pool(self, cell: Cell) -> float:
        """Return how many documents are likely to be pooled for a query of a cell."""
        answers = self.plan.depth(cell) * texts_per_query(cell)
        return distinct(NEW_DOCUMENTS * answers, self._size)

    @functools.cached_property
    def new_documents(self) -> float:
        """Return how many distinct documents are likely to be re-ranked by one system for the first time."""
        plan, size = self.plan, self._size
        systems = max(1, len(plan.options.systems))
        queries, per_system = (
            len(plan.queries),
            [one.cell for one in self.unmeasured][: len(self.unmeasured) // systems],
        )
        if not per_system:
            return 0.0
        answers = queries * sum(plan.depth(cell) * texts_per_query(cell) for cell in per_system)
        found = NEW_DOCUMENTS * answers
        if self.pipeline.ceiling.cells and not self.extended:
            found += _NEW_ORIGINAL * queries * max(map(self._pool, plan.cells))
        guesses = len(plan.attackers) * len(per_system) * queries * max(plan.depths.values())
        return distinct(found + _NEW_GUESSED * guesses, size)

    def documents(self, system: SystemSpec) -> Texts | None:
        """Return the documents that a system has to encode: for its own search all, to re-rank those found."""
        plan = self.plan
        name = system.retriever if isinstance(system.retriever, str) else ""
        whole = bool(name) and is_dense(name)
        encoder = load_encoder(model_of(name)) if whole else _reranking(system)
        if encoder is None or not self.unmeasured:
            return None
        store = self.pipeline.context.store_of(encoder)
        kept = 1 - store.missing(self.document_sample, "document") / max(1, len(self.document_sample))
        count = float(len(plan.collection)) if whole else self.new_documents
        # Those of this folder are read, too: what an interrupted run encoded is among what it needs. What a finished
        # run encoded was for its own cells, and those that are added find others.
        left = max(0.0, count * (1 - kept) - (0 if whole or self.extended else len(store)))
        tokens = mean_tokens(self.document_sample, encoder) or _SNIPPET_TOKENS
        # To search with, all at once; else those of the pools, those of the originals, and each attacker's guesses.
        return Texts(encoder, left, tokens, 1 if whole else 2 + len(plan.attackers))

    @functools.cached_property
    def unindexed(self) -> int:
        """Return how many documents are to be indexed."""
        needed = self.plan.judged or any(system.retriever_name == "bm25" for system in self.plan.options.systems)
        return len(self.plan.collection) if needed and self.cells and not BM25.kept(self.plan.collection) else 0

    @functools.cached_property
    def document_words(self) -> float:
        """Return how many words a document has, in the mean."""
        sample = self.document_sample
        return sum(len(text.split()) for text in sample) / max(1, len(sample))

    # --- sessions ---

    def sessions(self) -> tuple[float, float]:
        """Return how many words of planted queries are drawn, and how often a query of the log is compared."""
        sessions, plan, ready = self.pipeline.sessions, self.plan, set(self.ready)
        todo = [cell for cell in sessions.cells if cell not in ready or not sessions.has(cell)]
        planted = (LENGTH - 1) * len(plan.queries) if plan.sessions is None else 0
        asked = LENGTH * len(plan.queries) if plan.sessions is None else plan.sessions["qid"].nunique()
        words = self.query_words / max(1, len(plan.queries))
        return planted * words * sum(cell.setting.n for cell in todo), float(asked * len(todo) * len(plan.log))


def distinct(draws: float, size: int) -> float:
    """Return how many of ``size`` things come up in so many draws: nearly as many as draws, and never more than all.

    >>> round(distinct(100, 1_000_000)), round(distinct(10_000, 1000))
    (100, 1000)
    """
    return size * -math.expm1(-draws / size) if size else 0.0


def by_kind(attackers: Collection[Attacker]) -> dict[str, list[Attacker]]:
    """Return attackers by how they compare: vectors, words, or by the law of a mechanism."""
    kinds: dict[str, list[Attacker]] = {"vectors": [], "words": [], "law": []}
    for one in attackers:
        by_words = type(one).sent_vectors is Attacker.sent_vectors
        kinds["law" if one.knows != "log" else "words" if by_words else "vectors"].append(one)
    return kinds


def sent_per_query(cell: Cell) -> int:
    """Return how many variants of a query are sent: n, unless the mechanism says itself."""
    bound = cell.setting.bound
    if bound is None or not bound.own_count:
        return cell.setting.n
    members = getattr(bound, "members", None)
    return int(members or max(1.0, cell.setting.value))


def texts_per_query(cell: Cell) -> float:
    """Return how many distinct texts are likely among the variants of a query: one, where it is sent as it is."""
    return 1.0 if cell.setting.mechanism == ORIGINAL else 1 + NEW_TEXTS * (sent_per_query(cell) - 1)


def _reranking(system: SystemSpec) -> Encoder | None:
    """Return the encoder of a re-ranker; None where it is none."""
    name = system.reranker
    if not isinstance(name, str):
        own = getattr(name, "encoder", None)
        return own if isinstance(own, Encoder) else None
    plain = name.removeprefix(PREFIX)
    return None if plain in ("bm25", NO_RERANKER) or plain in reranker_plugins() else load_encoder(model_of(plain))
