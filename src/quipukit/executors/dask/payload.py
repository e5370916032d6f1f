"""How tasks travel to workers, and answers back: as bytes that we pickle ourselves.

Query texts are among them. Dask writes the arguments of a task that fails into the worker's log, and the message of
its exception too; it makes task names from hashes over arguments, and shows arguments on its pages. So all of it sees
one opaque object.
"""

import io
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from quipukit.executors.dask.requirements import WorkerRequirements
from quipukit.executors.shared import Shared

FaultKind = Literal["", "requirements", "input", "resource", "other"]


class Redacted:
    """Bytes whose content shows in no log."""

    def __init__(self, content: bytes) -> None:
        """Keep some bytes."""
        self.content = content

    def __repr__(self) -> str:
        return "Redacted(...)"


@dataclass(frozen=True)
class Reference:
    """Stands for a shared resource in a task: the worker loads it by its origin, or has received it from the run."""

    run: str
    number: int
    kind: str
    name: str
    content_id: str
    origin: Callable[[], Any] | None

    @property
    def key(self) -> tuple[str, int]:
        """Return what sets it apart on a worker that serves several runs."""
        return self.run, self.number

    def __str__(self) -> str:
        return f"the {self.kind} {self.name}" if self.name else f"the {self.kind}"


@dataclass(frozen=True)
class Task:
    """What a worker is asked: to meet requirements and, unless that is all, to call a function on an item."""

    requirements: WorkerRequirements
    call: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """What a worker returns: a result, or what went wrong; and who says so."""

    worker: str
    result: Any = None
    fault: str = ""
    fault_kind: FaultKind = ""
    trace: str = ""


def dump_call(
    function: Callable[[Any], Any], item: Any, refer: Callable[[Shared], Reference]
) -> tuple[bytes, frozenset[type]]:
    """Pickle a call, with references in place of shared resources; return the classes of others in it, too.

    Classes of others are those that build on one of ours: their code is compared before a worker runs it.
    """
    import cloudpickle

    classes: set[type] = set()

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        """Pickles classes of a notebook by value, as dask does."""

        def persistent_id(self, thing: Any) -> Reference | None:
            """Return a reference for what does not travel by itself."""
            cls = thing if isinstance(thing, type) else type(thing)
            shared = isinstance(thing, Shared)
            if (cls is thing or shared) and _is_foreign(cls):
                classes.add(cls)
            return refer(thing) if shared else None

    file = io.BytesIO()
    Pickler(file, protocol=5).dump((function, item))
    return file.getvalue(), frozenset(classes)


def load_call(call: bytes, resolve: Callable[[Reference], Any]) -> tuple[Callable[[Any], Any], Any]:
    """Unpickle a call, with shared resources in place of their references."""

    class Unpickler(pickle.Unpickler):
        """Asks for what did not travel."""

        def persistent_load(self, reference: Any) -> Any:
            """Return what a reference stands for."""
            return resolve(reference)

    function, item = Unpickler(io.BytesIO(call)).load()
    return function, item


def _is_foreign(cls: type) -> bool:
    """Return whether a class builds on one of ours and is imported by the worker; those of a notebook travel whole."""
    packages = [base.__module__.partition(".")[0] for base in cls.__mro__]
    return "quipukit" in packages and packages[0] not in ("quipukit", "__main__") and "<locals>" not in cls.__qualname__
