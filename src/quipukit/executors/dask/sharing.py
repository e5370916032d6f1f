"""Resources that many tasks use: every worker loads or receives each of them once, and drops it at the end."""

import contextlib
import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from quipukit.errors import InputError
from quipukit.executors.dask import worker as on_worker
from quipukit.executors.dask.faults import first_line
from quipukit.executors.dask.payload import Redacted, Reference
from quipukit.executors.shared import Shared


class SharePlugin(WorkerPlugin):
    """Carries a resource to the workers that are there and to those that join later, until it is withdrawn."""

    def __init__(self, key: tuple[str, int], content: Redacted | None) -> None:
        """Share a pickled resource; without content workers load it themselves, and only drop it at the end."""
        self.name = f"quipukit-{key[0]}-{key[1]}"
        self.key = key
        self.content = content

    def setup(self, worker: Any) -> None:
        """Reach a worker."""
        if self.content is not None:
            on_worker.receive(self.key, self.content.content)

    def teardown(self, worker: Any) -> None:
        """Leave a worker."""
        on_worker.forget(self.key)


@dataclass(frozen=True)
class _Share:
    reference: Reference
    plugin: str
    resource: "weakref.ref[Shared]"


class Sharing:
    """The resources of one run, and how its workers get them."""

    def __init__(self, client: Any, run: str, ask: Callable[[Reference], bool]) -> None:
        """Share with the workers of a client; ``ask`` tells whether all of them can load something by themselves."""
        self._client = client
        self._run = run
        self._ask = ask
        self._numbers = itertools.count()
        self._shares: dict[int, _Share] = {}  # by the identity of the resource

    def refer(self, resource: Shared) -> Reference:
        """Return the reference of a resource, sharing it where it is new.

        Workers load it themselves if it has an origin and all of them can: a file that lies on every machine, or a
        model of a package, need not travel. It is sent otherwise.
        """
        known = self._shares.get(id(resource))
        if known is not None and known.resource() is resource:
            return known.reference
        self._withdraw_unused()
        number = next(self._numbers)
        name = str(getattr(resource, "name", ""))
        reference = Reference(self._run, number, resource.kind, name, resource.content_id, resource.origin)
        if reference.origin is None or not self._ask(reference):
            reference = Reference(self._run, number, resource.kind, name, resource.content_id, None)
        plugin = SharePlugin(reference.key, None if reference.origin else _pickled(resource))
        self._client.register_plugin(plugin, name=plugin.name)
        self._shares[id(resource)] = _Share(reference, plugin.name, weakref.ref(resource))
        return reference

    def release(self) -> None:
        """Let all workers drop everything."""
        for identity in list(self._shares):
            self._withdraw(identity)

    def _withdraw_unused(self) -> None:
        for identity, share in list(self._shares.items()):
            if share.resource() is None:
                self._withdraw(identity)

    def _withdraw(self, identity: int) -> None:
        with contextlib.suppress(Exception):  # a cluster that is gone has forgotten it, too
            self._client.unregister_worker_plugin(self._shares.pop(identity).plugin)


def _pickled(resource: Shared) -> Redacted:
    import cloudpickle

    try:
        return Redacted(cloudpickle.dumps(resource, protocol=5))
    except Exception as fault:  # TypeError, PicklingError, or anything that a class's own method raises
        raise InputError(
            f"the {resource.kind} of this run cannot be sent to the workers ({first_line(fault)}); make it importable "
            "there, or give it by a name that they can load."
        ) from fault
