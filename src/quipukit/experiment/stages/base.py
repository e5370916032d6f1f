"""What a stage is: a key for every cell, and a computation of the cells whose artifacts are missing."""

import contextlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import pandas as pd

from quipukit.encoders.base import Encoder
from quipukit.encoders.distributed import distributed_store, private_folder
from quipukit.encoders.store import PrivateStore
from quipukit.executors.base import Executor
from quipukit.experiment.artifacts import FOLDER, Artifacts, key_of
from quipukit.experiment.plan import Plan
from quipukit.io.parts import PartReader
from quipukit.progress import StageTimer
from quipukit.source_hash import source_hash
from quipukit.table import Table

C = TypeVar("C")

# Pairs of a query and a pooled document, over all cells, that are held at once: some hundred bytes each.
MOST_PAIRS = 2_000_000


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
            self._stores[encoder.fingerprint] = distributed_store(encoder, self.executor, self._vectors)
        return self._stores[encoder.fingerprint]

    @property
    def _vectors(self) -> Path:
        return self.artifacts.folder / FOLDER / "vectors"

    def forget_shared(self) -> None:
        """Remove the vectors of private texts from a folder that workers share: a finished run needs them no more."""
        if self.executor.shared is not None:
            shutil.rmtree(private_folder(self.executor.shared, self._vectors), ignore_errors=True)


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a cell's tables, of which more follow."""

    frames: tuple[pd.DataFrame, ...]


@dataclass(frozen=True, eq=False)
class Encoded:
    """The tables of a cell as a worker has encoded them: to decode them here would take longer than to save them."""

    contents: tuple[bytes, ...]


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
    def compute(
        self, missing: Sequence[C]
    ) -> "Iterator[tuple[C, pd.DataFrame | tuple[pd.DataFrame, ...] | Part | Encoded]]":
        """Yield the tables of each missing cell as they are finished.

        Where tables are too large to be held, their rows come in parts: any number of `Part`, and the last rows as
        tables, for those of a cell are finished with them.
        """

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
        with _Drafts(self.context.artifacts) as drafts:
            for cell, computed in self.compute(missing):
                if isinstance(computed, Encoded):
                    for table, content in zip(self.tables, computed.contents, strict=True):
                        self.context.artifacts.save_encoded(table, self.key(cell), content)
                    continue
                more = isinstance(computed, Part)
                frames = computed.frames if isinstance(computed, Part) else computed
                frames = frames if isinstance(frames, tuple) else (frames,)
                for table, frame in zip(self.tables, frames, strict=True):
                    drafts.add(table, self.key(cell), frame, more)

    def load(self, cell: C, table: str | None = None, kind: Table | None = None) -> pd.DataFrame:
        """Read an artifact of a cell (of the stage's last table, or of the one named), checked as one of a kind."""
        return self.context.artifacts.load(table or self.tables[-1], self.key(cell), kind)

    def digest(self, cell: C) -> str:
        """Return the hash of a cell's last table, by which other stages depend on its content."""
        return self.context.artifacts.digest(self.tables[-1], self.key(cell))

    def reader(self, cell: C, table: str | None = None) -> PartReader:
        """Open an artifact of a cell that is read a part at a time."""
        return self.context.artifacts.reader(table or self.tables[-1], self.key(cell))


class _Drafts:
    """Artifacts that are being written, a part at a time; what is not finished at the end is forgotten."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._open: dict[tuple[str, str], tuple[contextlib.ExitStack, Callable[[pd.DataFrame], None]]] = {}

    def add(self, table: str, key: str, frame: pd.DataFrame, more: bool) -> None:
        """Add rows to an artifact, and finish it unless ``more`` follow."""
        if not more and (table, key) not in self._open:
            self._artifacts.save(table, key, frame)
            return
        if (table, key) not in self._open:
            stack = contextlib.ExitStack()
            self._open[table, key] = stack, stack.enter_context(self._artifacts.writing(table, key))
        self._open[table, key][1](frame)
        if not more:
            self._open.pop((table, key))[0].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: Any) -> None:
        unfinished = fault or RuntimeError("the stage ended before these tables did")
        for stack, _ in self._open.values():
            with contextlib.suppress(type(unfinished)):
                stack.__exit__(type(unfinished), unfinished, unfinished.__traceback__)
        if fault is None and self._open:
            raise unfinished
