"""Resources that are too heavy to travel with every item: a worker loads or receives each of them once."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar


class Shared:
    """Something heavy that reaches other processes by reference.

    A subclass has a ``fingerprint``: equal fingerprints, equal content. ``origin`` is a call, itself picklable, that
    loads the same thing on another machine; functions that load by name set it. Without one the object is pickled and
    sent to every worker once.
    """

    kind: ClassVar[str] = "resource"  # what messages call it
    origin: Callable[[], Any] | None = None
    fingerprint: Any

    @property
    def content_id(self) -> str:
        """Return what a worker compares, so that it never computes with something else."""
        return str(self.fingerprint)


_S = TypeVar("_S", bound=Shared)


def loaded_by(resource: _S, origin: Callable[[], Any]) -> _S:
    """Note the call that loads a resource, and return it; the resource may be frozen."""
    object.__setattr__(resource, "origin", origin)
    return resource
