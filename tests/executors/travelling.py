"""An executor that runs in this process but lets everything travel as it does to a worker: fast, and strict."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cloudpickle

from quipukit.executors import Executor
from quipukit.executors.dask import faults, worker
from quipukit.executors.dask.payload import Redacted, Reference, Task, dump_call
from quipukit.executors.dask.requirements import WorkerRequirements
from quipukit.executors.shared import Shared


class Travelling(Executor):
    """Pickles every call, answers it by what a worker runs, and unpickles the result; the last item comes first."""

    def __init__(self, slots: int = 2, by_origin: bool = True) -> None:
        self._slots, self._by_origin = slots, by_origin
        self.references: dict[int, tuple[Reference, Shared]] = {}
        self.items = self.shared = 0

    @property
    def slots(self) -> int:
        return self._slots

    def refer(self, resource: Shared) -> Reference:
        """Share a resource by its origin, or pickled."""
        if id(resource) not in self.references:
            key = (str(id(self)), len(self.references))
            origin = resource.origin if self._by_origin else None
            reference = Reference(*key, resource.kind, "", resource.content_id, origin)
            if origin is None:
                worker.receive(key, cloudpickle.dumps(resource))
            self.references[id(resource)] = reference, resource
            self.shared += 1
        return self.references[id(resource)][0]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        for number, item in reversed(list(enumerate(items))):
            self.items += 1
            call, classes = dump_call(function, item, self.refer)
            task = Task(WorkerRequirements.of_this_process(classes), call)
            answer = pickle.loads(worker.run(Redacted(pickle.dumps(task))).content)
            if answer.fault_kind:
                raise faults.error_of(answer)
            yield number, answer.result

    def __exit__(self, *fault: object) -> None:
        for reference, _ in self.references.values():
            worker.forget(reference.key)
        self.references.clear()
