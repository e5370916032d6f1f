"""Plan: everything an experiment starts from, loaded and checked, and the cells that it consists of."""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.attackers.base import Attacker
from quipukit.attackers.log import QueryLog
from quipukit.attackers.texts import Texts
from quipukit.collections.base import Collection
from quipukit.encoders.base import Encoder
from quipukit.experiment.cells import AttackCell, Cell, SystemCell
from quipukit.experiment.options import Options
from quipukit.mechanisms.base import Mechanism
from quipukit.settings import Setting
from quipukit.specs import Spec
from quipukit.vectors.store import Vectors

# Obfuscated queries of several cells that are held at once: up to a kilobyte each, with all that is made of them.
MOST_ROWS = 400_000
_CELLS = 100_000  # of a log that are hashed at a time


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment before it runs."""

    options: Options
    collection: Collection
    queries: pd.DataFrame
    qrels: pd.DataFrame
    log: QueryLog
    log_facts: Mapping[str, Any]
    encoder: Encoder
    attackers: tuple[Attacker, ...]
    settings: tuple[Setting, ...]
    skipped: tuple[Mapping[str, str], ...]
    given: pd.DataFrame | None  # queries that were obfuscated elsewhere
    given_noise: str  # how their noise was drawn: independent, common or unknown
    depths: Mapping[int, int]  # documents per obfuscated query, by the number of variants
    sessions: pd.DataFrame | None = None  # of a file or a frame; planted ones are made when they are needed
    objects: frozenset[Spec] = frozenset()  # the mechanisms that were given as objects

    @property
    def seeds(self) -> list[int]:
        """Return the root seeds of the noise."""
        return [self.options.seed + number for number in range(self.options.seeds)]

    @property
    def ns(self) -> list[int]:
        """Return the numbers of variants, in rising order; of queries obfuscated elsewhere the largest one."""
        return sorted(self.depths)

    @property
    def judged(self) -> bool:
        """Return whether utility can be measured."""
        return not self.qrels.empty

    @functools.cached_property
    def places(self) -> Mapping[str, int]:
        """Return the place of every query among all, by its id."""
        return {qid: place for place, qid in enumerate(self.queries["qid"])}

    # --- cells, in the order of the plan ---

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """Return a cell for every seed and setting."""
        return [Cell(seed, setting) for seed in self.seeds for setting in self.settings]

    @functools.cached_property
    def system_cells(self) -> list[SystemCell]:
        """Return the cells of every search system."""
        return [SystemCell(system, cell) for system in range(len(self.options.systems)) for cell in self.cells]

    @functools.cached_property
    def attack_cells(self) -> list[AttackCell]:
        """Return the cells of every attacker."""
        return [AttackCell(attacker, cell) for attacker in range(len(self.attackers)) for cell in self.cells]

    def without(self, settings: set[Setting], skipped: list[dict[str, str]]) -> "Plan":
        """Return the plan without some settings, which are listed as skipped with the reason."""
        kept = tuple(setting for setting in self.settings if setting not in settings)
        return replace(self, settings=kept, skipped=(*self.skipped, *skipped))

    def batch(self, cell: Cell) -> tuple[int, int]:
        """Return a key that is equal for cells whose tables can be put together: no setting comes twice in a batch."""
        return cell.seed, cell.setting.n if len(self.ns) > 1 else 0

    def batches(self, cells: Iterable[Cell]) -> list[list[Cell]]:
        """Divide cells into those whose tables are put together: all that can be, up to `MOST_ROWS` rows, or one cell.

        Those of one mechanism follow one another, and what its settings share is computed once for a batch.
        """
        batches: list[list[Cell]] = []
        open_batch: dict[tuple[int, int], list[Cell]] = {}
        for cell in cells:
            batch = open_batch.get(self.batch(cell))
            if batch is None or sum(map(self.rows, (*batch, cell))) > MOST_ROWS:
                batch = open_batch[self.batch(cell)] = []
                batches.append(batch)
            batch.append(cell)
        return batches

    def rows(self, cell: Cell) -> int:
        """Return how many obfuscated queries a cell has at most."""
        return len(self.queries) * cell.setting.n

    def depth(self, cell: Cell) -> int:
        """Return how many documents to ask for per obfuscated query of a cell."""
        return self.depths.get(cell.setting.n, max(self.depths.values()))

    # --- what artifacts depend on ---

    @functools.cached_property
    def fingerprints(self) -> Mapping[str, str]:
        """Return the fingerprints of the inputs."""
        return {
            "queries": fingerprint(self.queries.to_dict("list")),
            "qrels": fingerprint(self.qrels.to_dict("list")),
            "log": log_fingerprint(self.log),
            "collection": self.collection.fingerprint,
            "encoder": self.encoder.fingerprint,
        }

    # --- what is reported ---

    @functools.cached_property
    def examples(self) -> list[str]:
        """Return the ids of the queries that the report shows: spread evenly over all."""
        qids = self.queries["qid"].tolist()
        count = min(self.options.examples, len(qids))
        return [qids[number * len(qids) // count] for number in range(count)]

    @property
    def mechanisms(self) -> list[Mechanism]:
        """Return the bound mechanisms, each setting once."""
        return list({setting.bound.spec: setting.bound for setting in self.settings if setting.bound}.values())

    @property
    def vectors(self) -> Vectors | None:
        """Return the word vectors, where a mechanism uses some."""
        return next((one.vocabulary for one in self.mechanisms if one.vocabulary is not None), None)


def fingerprint(content: Any) -> str:
    """Return a hash over anything that JSON can write."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _whole_numbers(counts: "NDArray[np.int64]") -> bytes:
    """Return numbers as they stand in a JSON list; most logs have each query once."""
    if (counts == counts[0]).all():
        return b", ".join([b"%d" % counts[0]] * len(counts))
    return ", ".join(map(str, counts.tolist())).encode()


def log_fingerprint(log: QueryLog) -> str:
    """Return the `fingerprint` of a log's texts and counts, without holding them all as JSON.

    >>> log = QueryLog.of(["cats", "dogs", "Cats"])
    >>> log_fingerprint(log) == fingerprint([["cats", "dogs"], [2, 1]])
    True
    """
    total, encoder = hashlib.sha256(), json.JSONEncoder(sort_keys=True)

    def add(begin: str, parts: Iterable[bytes]) -> None:
        for number, part in enumerate(parts):
            total.update((b", " if number else begin.encode()) + part)
        total.update(b"]")

    spans = [slice(start, start + _CELLS) for start in range(0, len(log), _CELLS)]
    texts = (
        log.texts.as_json(_CELLS)
        if isinstance(log.texts, Texts)
        else (encoder.encode(list(log.texts[span]))[1:-1].encode() for span in spans)
    )
    add("[[", texts)
    add(", [", (_whole_numbers(log.counts[span]) for span in spans))
    total.update(b"]")
    return total.hexdigest()
