"""Names of mechanisms and where they live; nothing is imported before it is used.

A plugin adds its own through the entry-point group ``quipukit.mechanisms``: the entry's name is the mechanism's
name, its value the class. A name that is taken, in any spelling, is not given again: what answers to ``cmp`` is CMP.
"""

import difflib
import functools
import importlib
import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Literal, get_args

from quipukit.errors import SpecError

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

GROUP = "quipukit.mechanisms"

HidesMore = Literal["smaller", "larger"]

_BUILT_IN = {
    "CMP": "cmp:CMP",
    "Mahalanobis": "mahalanobis:Mahalanobis",
    "VickreyCMP": "vickrey:VickreyCMP",
    "VickreyMhl": "vickrey:VickreyMhl",
    "CusText": "custext:CusText",
    "SanText": "santext:SanText",
    "SanText+": "santext:SanTextPlus",
    "TEM": "tem:TEM",
    "WBB": "wbb:WBB",
    "AEA": "aea:AEA",
    "FEA": "fea:FEA",
    "Identity": "identity:Identity",
    "Random": "random:Random",
}

_ALIASES = {
    "mhl": "Mahalanobis",
    "cmpvickrey": "VickreyCMP",
    "vickrey": "VickreyCMP",
    "mhlvickrey": "VickreyMhl",
    "mahalanobisvickrey": "VickreyMhl",
    "vickreymahalanobis": "VickreyMhl",
    "santextplus": "SanText+",
    "aed": "AEA",
    "fsh": "FEA",
    "original": "Identity",
}


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms, the built-in ones first, then those of plugins."""
    return [*built_in_names(), *sorted(_plugins())]


def built_in_names() -> list[str]:
    """Return the names of the mechanisms that come with quipukit."""
    return list(_BUILT_IN)


def canonical_name(name: str) -> str:
    """Return the name under which a mechanism is registered: any case, dashes and aliases are understood.

    >>> canonical_name("cmp-vickrey"), canonical_name("AED")
    ('VickreyCMP', 'AEA')
    """
    names = {_fold(known): known for known in mechanism_names()} | _ALIASES
    folded = _fold(name)
    if folded in names:
        return names[folded]
    near = list(dict.fromkeys(names[match] for match in difflib.get_close_matches(folded, names, 3, 0.5)))
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(mechanism_names())}."
    raise SpecError(f"there is no mechanism {name!r}; {hint} `quipukit list` shows them all.")


@functools.cache
def mechanism_class(name: str) -> "type[Mechanism]":
    """Return the class behind a name."""
    name = canonical_name(name)
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        found: type[Mechanism] = getattr(importlib.import_module(f"quipukit.mechanisms.{module}"), attribute)
        return found
    plugin: type[Mechanism] = _plugins()[name].load()
    return plugin


def installed_class(family: str) -> "type[Mechanism] | None":
    """Return the class behind what a column ``mechanism`` holds, None where no such mechanism is installed.

    >>> installed_class("CusText(k=20)").__name__, installed_class("Elsewhere")
    ('CusText', None)
    """
    from quipukit.specs import spec

    try:
        return mechanism_class(spec(family).name)
    except SpecError:
        return None


def directions(families: Iterable[str], declared: Mapping[str, str] | None = None) -> dict[str, HidesMore]:
    """Return for each mechanism whether its smaller or its larger values hide more.

    It is what ``declared`` says, else what the class says, and "smaller" where no such mechanism is installed.

    >>> directions(["CMP", "AEA", "Elsewhere"])
    {'CMP': 'smaller', 'AEA': 'larger', 'Elsewhere': 'smaller'}
    """
    return {family: _direction(family, (declared or {}).get(family, "")) for family in dict.fromkeys(families)}


def _direction(family: str, declared: str) -> HidesMore:
    chosen = declared or getattr(installed_class(family), "hides_more", "smaller")
    for known in get_args(HidesMore):
        if chosen == known:
            return known
    raise SpecError(f"{family}: hides_more must be 'smaller' or 'larger' (found {chosen!r}).")


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the plugins that have a name of their own; the others are named once and left out."""
    claims: dict[str, set[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        claims.setdefault(_fold(entry.name), set()).add(entry)
    ours = {_fold(name): name for name in _BUILT_IN} | _ALIASES
    found: dict[str, EntryPoint] = {}
    for folded, entries in claims.items():
        names = " and ".join(sorted(f"{entry.name!r} ({entry.value})" for entry in entries))
        if folded in ours:
            warnings.warn(f"the plugin {names} is ignored: its name means the built-in {ours[folded]}.", stacklevel=2)
        elif len(entries) > 1:  # neither has the better claim
            warnings.warn(f"the plugins {names} are ignored: they have one name; uninstall all but one.", stacklevel=2)
        else:
            found.update((entry.name, entry) for entry in entries)
    return found


def _fold(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")
