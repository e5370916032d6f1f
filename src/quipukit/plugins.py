"""Plugins: what other packages add through entry points, found by group and loaded when it is first used.

| group | an entry gives |
|---|---|
| ``quipukit.mechanisms`` | a subclass of `Mechanism` |
| ``quipukit.attackers`` | a subclass of `Attacker` |
| ``quipukit.encoders`` | anything that returns an `Encoder` when called |
| ``quipukit.collections`` | anything that returns a `Collection` when called |
| ``quipukit.retrievers`` | anything that returns a `Retriever` when called with a collection |
| ``quipukit.measures`` | a function of a ranking and its judgments that returns a utility |
| ``quipukit.engines`` | a subclass of `Engine`, under its ``kind``: how to speak to a search engine over HTTP |
| ``quipukit.rerankers`` | anything that returns a `Scorer` when called with a collection |
| ``quipukit.sections`` | a `Section` of the report |

A name that is taken, in any spelling, is not given again: what answers to ``cmp`` is CMP.
"""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from quipukit.errors import QuipukitError, ResourceError

Loader = Callable[[], Any]
_T = TypeVar("_T")

_LONGEST = 200  # characters of somebody else's message

_added: dict[str, dict[str, Loader]] = {}


def plugins(group: str, taken: tuple[tuple[str, str], ...] = ()) -> Mapping[str, Loader]:
    """Return the plugins of a group by name, each as a function that loads it.

    ``taken`` are (folded name, what it means) pairs of our own. A plugin whose name means something already, and
    plugins that share a name, are named in a warning and left out.
    """
    return {**_installed(group, taken), **_added.get(group, {})}


def look_again() -> None:
    """Forget which plugins were found: packages were installed since."""
    _installed.cache_clear()


@functools.cache  # to look for them reads a file of every installed package
def _installed(group: str, taken: tuple[tuple[str, str], ...]) -> Mapping[str, Loader]:
    ours = dict(taken)
    claims: dict[str, set[EntryPoint]] = {}
    for entry in entry_points(group=group):
        claims.setdefault(fold(entry.name), set()).add(entry)
    chosen: dict[str, Loader] = {}
    for folded, entries in claims.items():
        names = " and ".join(sorted(f"{entry.name!r} ({entry.value})" for entry in entries))
        if folded in ours:
            warnings.warn(f"the plugin {names} is ignored: its name means the built-in {ours[folded]}.", stacklevel=3)
        elif len(entries) > 1:  # neither has the better claim
            warnings.warn(f"the plugins {names} are ignored: they share a name; uninstall all but one.", stacklevel=3)
        else:
            chosen.update((entry.name, functools.partial(_load, entry)) for entry in entries)
    return chosen


def _load(entry: EntryPoint) -> Any:
    """Load what an entry point names; whatever goes wrong while its module is imported is said in one line."""
    try:
        return entry.load()
    except (Exception, SystemExit) as fault:  # a module of somebody else's may raise anything, or be a script
        package = entry.dist.name if entry.dist is not None else entry.module
        reason = next(iter(str(fault).strip().splitlines()), "")
        raise ResourceError(
            f"the plugin {entry.name!r} ({entry.value}) cannot be loaded: {type(fault).__name__}"
            f"{f': {reason[:_LONGEST]}' if reason else ''}; repair or uninstall the package {package}."
        ) from fault


@contextlib.contextmanager
def temporarily_installed(group: str, **objects: Any) -> Iterator[None]:
    """Make objects available as if a package had installed them as plugins, for as long as the block runs."""
    before = _added.get(group, {})
    _added[group] = {**before, **{name: functools.partial(_itself, value) for name, value in objects.items()}}
    try:
        yield
    finally:
        _added[group] = before


def is_ours(one: object) -> bool:
    """Return whether the class of an object is quipukit's own, and not that of a plugin or of the user."""
    return type(one).__module__.partition(".")[0] == "quipukit"


@contextlib.contextmanager
def naming(kind: str, one: object) -> Iterator[None]:
    """Say which object of somebody else's raised, where one does; what it says itself may quote a query, and is not.

    Our own errors, raised by theirs, speak for themselves.
    """
    if is_ours(one):
        yield
        return
    try:
        yield
    except (QuipukitError, Warning, MemoryError):
        raise
    except Exception as fault:
        raise fault_of(kind, one, f"raised {type(fault).__name__}") from fault


def named_each(kind: str, one: object, values: "Iterable[_T]") -> Iterator[_T]:
    """Iterate over what an object gives, and say which object it was where that raises."""
    with naming(kind, one):
        yield from values


def fault_of(kind: str, one: object, what: str) -> ResourceError:
    """Return the error that names an object, its class and what it did wrong."""
    cls = type(one)
    name = getattr(one, "name", "") or cls.__name__
    words = f"the {kind} {name!r} ({cls.__module__}:{cls.__qualname__}) {what}; repair it, or leave it out."
    if what.startswith("raised"):
        words += " Its own words may quote a query, and are not shown: in Python they are the cause of this error."
    return ResourceError(words)


def fold(name: str) -> str:
    """Return what spellings of one name have in common.

    >>> fold("Cmp-Vickrey") == fold("CMP vickrey")
    True
    """
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


def _itself(value: Any) -> Any:
    return value
