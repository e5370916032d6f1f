"""Fingerprints of objects: what was computed with another object is computed again.

An object states its own (``fingerprint``), or gets one from its class's source and its state: what pickle would keep,
written in one canonical form, so that the same object has the same fingerprint in every process.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Set
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from quipukit.errors import InputError
from quipukit.source_hash import object_hash

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def fingerprint_of(thing: Any) -> str:
    """Return the fingerprint of an object that a user passes: its own, or a hash over its class's source and state.

    >>> class Plain:
    ...     fingerprint = "plain-1"
    >>> fingerprint_of(Plain())
    'plain-1'
    """
    stated = getattr(thing, "fingerprint", None)
    if isinstance(stated, str) and stated:
        return stated
    kind: Any = type(thing)
    source = object_hash(kind)
    if not source:
        raise InputError(f"{kind.__name__} has no source file to hash; {_fix(kind)}.")
    state = state_of(thing)
    if not state:
        # Neither the state nor the cause is shown: it may hold a query or a password.
        raise InputError(f"the state of {kind.__name__} cannot be hashed, because it cannot be pickled; {_fix(kind)}.")
    return hashlib.sha256(f"{source} {state}".encode()).hexdigest()


def state_of(thing: Any) -> str:
    """Return an object's state in its canonical form; empty where it cannot be pickled."""
    try:
        return json.dumps(_canonical(thing, ()))
    except (TypeError, ValueError, AttributeError, RecursionError):
        return ""


def _fix(kind: type) -> str:
    return f"give {kind.__name__} an attribute 'fingerprint', a string that changes whenever its answers may"


def _canonical(value: Any, above: tuple[int, ...]) -> Any:
    """Return a value as JSON can write it, the same in every process; ``above`` are the ids of what holds it."""
    if isinstance(value, _PLAIN):
        return [type(value).__name__, repr(value)]
    if id(value) in above:
        return ["above", len(above) - above.index(id(value))]
    inner = (*above, id(value))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", value.dtype.str, list(value.shape), digest]
    if isinstance(value, list | tuple):
        return [type(value).__name__, [_canonical(item, inner) for item in value]]
    if isinstance(value, Set):
        return [type(value).__name__, sorted((_canonical(item, inner) for item in value), key=json.dumps)]
    if isinstance(value, Mapping):
        # In the order of insertion: a search system may depend on it.
        return [type(value).__name__, [[_canonical(part, inner) for part in pair] for pair in value.items()]]
    if isinstance(value, type | FunctionType | BuiltinFunctionType):
        if "<" in value.__qualname__:
            raise TypeError("a lambda or a local function has no name to be found by")
        return ["code", value.__module__, value.__qualname__, object_hash(value)]
    stated = getattr(value, "fingerprint", None)
    if above and isinstance(stated, str) and stated:
        return ["fingerprint", type(value).__qualname__, stated]
    return ["object", *_reduced(value, inner)]


def _reduced(value: Any, inner: tuple[int, ...]) -> Iterator[Any]:
    """Yield what pickle keeps of an object: how it is made, its state, and what it holds as a list or a dict."""
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        yield reduced
        return
    for part in reduced:
        yield _canonical(list(part) if isinstance(part, Iterator) else part, inner)
