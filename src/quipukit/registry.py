"""Names and what they mean: a registry for mechanisms, and one for anything else that is found by name.

Nothing is imported before it is used. A plugin adds its own through an entry point (see `quipukit.plugins`).
"""

import difflib
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from quipukit.errors import ResourceError, SpecError
from quipukit.plugins import Loader, fold, plugins

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

HidesMore = Literal["smaller", "larger"]


@dataclass(frozen=True)
class Registry:
    """Things of one kind by name: the built-in ones, given as ``module:attribute``, then those of plugins."""

    kind: str  # as an error message calls one
    group: str  # of entry points
    built_in: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)  # folded name -> name
    hint: str = ""

    @property
    def names(self) -> list[str]:
        """Return all names, the built-in ones first."""
        return [*self.built_in, *sorted(self._plugins)]

    def find(self, name: str) -> str | None:
        """Return the name under which something is registered, None where nothing is."""
        return self._known().get(fold(name))

    def canonical(self, name: str) -> str:
        """Return the name under which something is registered: any case, dashes and aliases are understood."""
        names = self._known()
        folded = fold(name)
        if folded in names:
            return names[folded]
        near = list(dict.fromkeys(names[match] for match in difflib.get_close_matches(folded, names, 3, 0.5)))
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(self.names)}."
        raise SpecError(f"there is no {self.kind} {name!r}; {hint} {self.hint}".rstrip())

    def load(self, name: str) -> Any:
        """Return what a name stands for."""
        name = self.canonical(name)
        if name in self.built_in:
            module, _, attribute = self.built_in[name].partition(":")
            return getattr(importlib.import_module(module), attribute)
        return self._plugins[name]()

    def _known(self) -> dict[str, str]:
        return {fold(known): known for known in self.names} | dict(self.aliases)

    @property
    def _plugins(self) -> Mapping[str, Loader]:
        return plugins(self.group, tuple({**{fold(name): name for name in self.built_in}, **self.aliases}.items()))


_MECHANISMS = {
    "CMP": "quipukit.mechanisms.cmp:CMP",
    "Mahalanobis": "quipukit.mechanisms.mahalanobis:Mahalanobis",
    "VickreyCMP": "quipukit.mechanisms.vickrey:VickreyCMP",
    "VickreyMhl": "quipukit.mechanisms.vickrey:VickreyMhl",
    "CusText": "quipukit.mechanisms.custext:CusText",
    "SanText": "quipukit.mechanisms.santext:SanText",
    "SanText+": "quipukit.mechanisms.santext:SanTextPlus",
    "TEM": "quipukit.mechanisms.tem:TEM",
    "Diffractor": "quipukit.mechanisms.diffractor:Diffractor",
    "RANTEXT": "quipukit.mechanisms.rantext:RANTEXT",
    "NoisyRANTEXT": "quipukit.mechanisms.noisyrantext:NoisyRANTEXT",
    "DPMLM": "quipukit.mechanisms.dpmlm:DPMLM",
    "WBB": "quipukit.mechanisms.wbb:WBB",
    "AEA": "quipukit.mechanisms.aea:AEA",
    "FEA": "quipukit.mechanisms.fea:FEA",
    "Cover": "quipukit.mechanisms.cover:Cover",
    "QueryExp": "quipukit.mechanisms.queryexp:QueryExp",
    "ContextualCMP": "quipukit.mechanisms.contextual:ContextualCMP",
    "ContextualMhl": "quipukit.mechanisms.contextual:ContextualMhl",
    "Decoys": "quipukit.mechanisms.decoys:Decoys",
    "StickyCover": "quipukit.mechanisms.sticky:StickyCover",
    "Identity": "quipukit.mechanisms.identity:Identity",
    "Random": "quipukit.mechanisms.random:Random",
}

_ALIASES = {
    "mhl": "Mahalanobis",
    "cmpvickrey": "VickreyCMP",
    "vickrey": "VickreyCMP",
    "mhlvickrey": "VickreyMhl",
    "mahalanobisvickrey": "VickreyMhl",
    "vickreymahalanobis": "VickreyMhl",
    "santextplus": "SanText+",
    "inferdpt": "RANTEXT",
    "contextualmahalanobis": "ContextualMhl",
    "aed": "AEA",
    "fsh": "FEA",
    "original": "Identity",
}


MECHANISMS = Registry("mechanism", "quipukit.mechanisms", _MECHANISMS, _ALIASES, "`quipukit list` shows them all.")


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms, the built-in ones first, then those of plugins."""
    return MECHANISMS.names


def built_in_names() -> list[str]:
    """Return the names of the mechanisms that come with quipukit."""
    return list(MECHANISMS.built_in)


def canonical_name(name: str) -> str:
    """Return the name under which a mechanism is registered: any case, dashes and aliases are understood.

    >>> canonical_name("cmp-vickrey"), canonical_name("AED")
    ('VickreyCMP', 'AEA')
    """
    return MECHANISMS.canonical(name)


def mechanism_class(name: str) -> "type[Mechanism]":
    """Return the class behind a name."""
    loaded: Any = MECHANISMS.load(name)
    # By its name: the class itself stands above this module, and would be imported with it.
    bases = getattr(loaded, "__mro__", ())
    if not any((base.__module__, base.__name__) == ("quipukit.mechanisms.base", "Mechanism") for base in bases):
        found = loaded.__name__ if isinstance(loaded, type) else type(loaded).__name__
        raise ResourceError(
            f"the plugin {name!r} gives no mechanism (found {found}); it must be a class that inherits "
            "quipukit.mechanisms.base.Mechanism."
        )
    cls: type[Mechanism] = loaded
    return cls


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
