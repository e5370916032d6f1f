"""The mechanisms that can be chosen on the page, and those that were, ready for use."""

import functools
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass

from quipukit.errors import InputError
from quipukit.mechanisms.base import Mechanism, default_value
from quipukit.obfuscation import mechanism
from quipukit.registry import canonical_name, mechanism_class, mechanism_names
from quipukit.specs import Spec
from quipukit.vectors.sources import load_vectors
from quipukit.vectors.store import Vectors

MOST_VARIANTS = 200
_KEPT = 32


@dataclass(frozen=True)
class Choice:
    """A mechanism as the page offers it."""

    name: str
    summary: str
    strategy: str
    parameter: str
    values: tuple[float, ...]
    default: float | None
    sends_original: bool
    own_count: bool


@functools.cache
def choices() -> tuple[Choice, ...]:
    """Return all mechanisms, those of plugins among them."""
    return tuple(_choice(name) for name in mechanism_names())


def _choice(name: str) -> Choice:
    cls = mechanism_class(name)
    default = default_value(cls) if cls.parameter else None
    return Choice(
        name=cls.name,
        summary=cls.summary,
        strategy=cls.strategy,
        parameter=cls.parameter,
        values=tuple(cls.grid) if cls.parameter else (),
        default=default,
        sends_original=cls.sends_original,
        own_count=cls.own_count,
    )


class Mechanisms:
    """Bound mechanisms, the last ones used; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bound: OrderedDict[Spec, Mechanism] = OrderedDict()

    @functools.cached_property
    def vectors(self) -> Vectors:
        """Return the word vectors that all settings share."""
        return load_vectors()

    def bound(self, name: str, value: float | None) -> Mechanism:
        """Return a mechanism at a value of its parameter; its default where none is named."""
        cls = mechanism_class(canonical_name(name))
        if cls.parameter and value is None:
            value = default_value(cls)
        if value is not None and not math.isfinite(value):
            raise InputError(f"{cls.parameter or 'value'} must be a finite number.")
        wanted = Spec(cls.name, (), value if cls.parameter else None)
        with self._lock:
            if wanted not in self._bound:
                self._bound[wanted] = mechanism(wanted, vectors=self.vectors)
            self._bound.move_to_end(wanted)
            while len(self._bound) > _KEPT:
                self._bound.popitem(last=False)
            return self._bound[wanted]
