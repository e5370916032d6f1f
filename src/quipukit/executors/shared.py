"""Resources that are too heavy to travel with every item: a worker loads or receives each of them once."""

import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar


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
_T = TypeVar("_T")


class Plain(Generic[_T]):
    """Something with no shared resource inside: many texts, or a table.

    A task is looked through for shared resources, object by object, while it is pickled; this is pickled in one go.
    """

    def __init__(self, content: _T) -> None:
        """Hold something."""
        self.content = content

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain, (pickle.dumps(self.content, protocol=5),)


def _plain(content: bytes) -> Plain[Any]:
    return Plain(pickle.loads(content))


def loaded_by(resource: _S, origin: Callable[[], Any]) -> _S:
    """Note the call that loads a resource, and return it; the resource may be frozen."""
    object.__setattr__(resource, "origin", origin)
    return resource
