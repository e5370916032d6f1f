"""What a stage is: a key for every cell, and a computation of the cells whose artifacts are missing."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import pandas as pd

from quipukit.encoders.base import Encoder
from quipukit.encoders.distributed import distributed
from quipukit.encoders.store import EncodingStore, PrivateStore
from quipukit.executors.base import Executor
from quipukit.experiment.artifacts import FOLDER, Artifacts, key_of
from quipukit.experiment.plan import Plan
from quipukit.progress import StageTimer
from quipukit.source_hash import source_hash
from quipukit.table import Table

C = TypeVar("C")


@dataclass
class Context:
    """What the stages of one run share: the plan, what is finished, who does the work, and who sees the progress."""

    plan: Plan
    artifacts: Artifacts
    timer: StageTimer
    executor: Executor
    _stores: dict[str, PrivateStore] = field(default_factory=dict)

    def store_of(self, encoder: Encoder) -> PrivateStore:
        """Return the vectors of an encoder: those of private texts are kept with the artifacts, and read before those
        of the cache that all experiments share."""
        if encoder.fingerprint not in self._stores:
            shared = EncodingStore(distributed(encoder, self.executor))
            self._stores[encoder.fingerprint] = PrivateStore(shared, self.artifacts.folder / FOLDER / "vectors")
        return self._stores[encoder.fingerprint]


class Stage(ABC, Generic[C]):
    """One stage of an experiment; a subclass names what its artifacts depend on, and computes those that are missing.

    An artifact's key covers the stage's name, the source of its file and of all that it calls, and what `depends_on`
    says: a change of any of these is another artifact.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()  # the tables of one cell, in the order in which they are saved; the name

    def __init__(self, context: Context) -> None:
        """Prepare the stage; nothing is computed before `run`."""
        self.context = context
        self.source = source_hash(type(self).__module__)  # read now: code that changes during a run does not run
        self._keys: dict[C, str] = {}
        if not self.tables:
            self.tables = (self.name,)  # type: ignore[misc]

    @property
    def plan(self) -> Plan:
        """Return the plan, as it is now: settings may be withheld after they were obfuscated."""
        return self.context.plan

    @property
    @abstractmethod
    def cells(self) -> Sequence[C]:
        """Return the cells of the stage, in the order of the plan."""

    @abstractmethod
    def depends_on(self, cell: C) -> Any:
        """Return, as JSON can write it, what the artifact of a cell depends on."""

    @abstractmethod
    def compute(self, missing: Sequence[C]) -> "Iterator[tuple[C, pd.DataFrame | tuple[pd.DataFrame, ...]]]":
        """Yield the tables of each missing cell as they are finished."""

    def key(self, cell: C) -> str:
        """Return the name of a cell's artifact; computed once, because some hash thousands of texts."""
        if cell not in self._keys:
            self._keys[cell] = key_of(self.name, self.source, self.depends_on(cell))
        return self._keys[cell]

    def has(self, cell: C) -> bool:
        """Return whether the artifacts of a cell are finished."""
        return all(self.context.artifacts.has(table, self.key(cell)) for table in self.tables)

    def missing(self) -> list[C]:
        """Return the cells whose artifacts are to be computed; of cells that share an artifact the first."""
        cells = {self.key(cell): cell for cell in reversed(self.cells) if not self.has(cell)}
        return list(reversed(cells.values()))

    def run(self) -> None:
        """Compute and save what is missing."""
        missing = self.missing()
        if not missing:
            return
        for cell, computed in self.compute(missing):
            frames = computed if isinstance(computed, tuple) else (computed,)
            for table, frame in zip(self.tables, frames, strict=True):
                self.context.artifacts.save(table, self.key(cell), frame)

    def load(self, cell: C, table: str | None = None, kind: Table | None = None) -> pd.DataFrame:
        """Read an artifact of a cell (of the stage's last table, or of the one named), checked as one of a kind."""
        return self.context.artifacts.load(table or self.tables[-1], self.key(cell), kind)

    def digest(self, cell: C) -> str:
        """Return the hash of a cell's last table, by which other stages depend on its content."""
        return self.context.artifacts.digest(self.tables[-1], self.key(cell))
