"""Attackers by name: the built-in ones and those of plugins, bound to their options and resources."""

import ast
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quipukit.attackers.base import Attacker, fault_of, option_fields, resource_names
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import load_encoder
from quipukit.errors import InputError, ResourceError, SpecError
from quipukit.registry import Registry
from quipukit.specs import Spec, parse

if TYPE_CHECKING:
    from quipukit.vectors.store import Vectors


def built_in_attackers(folder: Path = Path(__file__).parent) -> dict[str, str]:
    """Return where the attackers of this package are: every class that names itself, found without importing any file.

    So a new attacker is its own file and its test, and no list.

    >>> built_in_attackers()["QuIA"]
    'quipukit.attackers.quia:QuIA'
    """
    return {
        str(statement.value.value): f"quipukit.attackers.{file.stem}:{node.name}"
        for file in sorted(folder.glob("*.py"))
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and [getattr(target, "id", "") for target in statement.targets] == ["name"]
    }


# Who attacks unless somebody is named: QuIA, as published, and all that know no more than it does, each strong where
# others are weak. The risk that a report states is that of the strongest.
PANEL = ("QuIA", "Words", "Positional", "Lexical", "MaxSim", "Style", "Fusion")

ATTACKERS = Registry("attacker", "quipukit.attackers", built_in_attackers())


def attacker_class(name: str) -> type[Attacker]:
    """Return the class behind a name."""
    cls = ATTACKERS.load(name)
    if not (isinstance(cls, type) and issubclass(cls, Attacker)):
        raise ResourceError(f"the plugin {name!r} is no attacker; it must inherit quipukit.attackers.base.Attacker.")
    if fault := fault_of(cls):
        raise ResourceError(f"the plugin {name!r} is not complete: {fault}")
    return cls


def attacker_spec(text: "str | Spec") -> Spec:
    """Parse the spec of an attacker: its name, any options in brackets, and no ``@``.

    >>> attacker_spec("quia(encoder=minilm)")
    QuIA(encoder='minilm')
    """
    wanted = parse(text, ATTACKERS.canonical, "an attacker; write it as QuIA or QuIA(encoder='minilm')")
    if wanted.value is not None:
        raise SpecError(f"{wanted!r}: an attacker has no '@'; write {wanted.family}.")
    return wanted


def attacker(
    spec: "str | Spec | Attacker",
    *,
    encoder: "str | Encoder | None" = None,
    vectors: "str | Vectors | None" = None,
) -> Attacker:
    """Bind an attacker to its resources; what its spec names comes first, then what is given, then its own default.

    >>> attacker("QuIA").spec
    QuIA
    """
    if isinstance(spec, Attacker):
        if fault := fault_of(spec):
            raise InputError(fault, argument="attackers")
        return spec
    wanted = attacker_spec(spec)
    cls = attacker_class(wanted.name)
    options = _checked_options(cls, wanted)
    given: dict[str, Any] = {name: resource for name, resource in (("encoder", encoder), ("vectors", vectors))}
    named = {name: options.pop(name, None) or given[name] for name in resource_names(cls)}
    resources = {name: _LOADERS[name](resource) for name, resource in named.items() if resource is not None}
    made = cls(**options, **resources)
    made.written = wanted
    return made


def with_panel(attackers: "Iterable[str | Spec | Attacker]") -> "list[str | Spec | Attacker]":
    """Return attackers with the name ``panel`` replaced by those of the panel that are not named beside it.

    >>> with_panel(["panel", "Mine"])
    ['QuIA', 'Words', 'Positional', 'Lexical', 'MaxSim', 'Style', 'Fusion', 'Mine']
    """
    given = list(attackers)
    others = {str(one).casefold() for one in given if isinstance(one, str)}
    panel = [name for name in PANEL if name.casefold() not in others]
    found: list[str | Spec | Attacker] = []
    for one in given:
        is_panel = isinstance(one, str) and one.casefold() == "panel"
        found += [name for name in panel if name not in found] if is_panel else [one]
    return found


def with_other_vectors(attackers: Iterable[str]) -> list[str]:
    """Return names of attackers, and for each pack of vectors on disk beside the default one Positional with that pack.

    For queries obfuscated elsewhere, where nobody says with which vectors; only where the panel attacks.
    """
    from quipukit.vectors.sources import other_names

    given = list(attackers)
    if not any(one.casefold() == "panel" for one in given):
        return given
    return [*given, *(f"Positional(vectors={name!r})" for name in other_names())]


def check_distinct(attackers: Iterable[Attacker]) -> None:
    """Refuse attackers of which two have one name: a result could not tell them apart."""
    for name, count in Counter(repr(one.spec) for one in attackers).items():
        if name == "strongest":  # see quipukit.measures.strongest
            raise InputError(
                "an attacker cannot be called 'strongest': the one with the highest risk is; rename it.",
                argument="attackers",
            )
        if count > 1:
            raise InputError(f"the attacker {name} is given twice; keep one.", argument="attackers")


def _checked_options(cls: type[Attacker], wanted: Spec) -> dict[str, Any]:
    allowed = [*(field.name for field in option_fields(cls)), *resource_names(cls)]
    options = dict(wanted.options)
    if len(options) != len(wanted.options):
        raise SpecError(f"{wanted!r} sets an option twice; keep one.")
    for option in options:
        if option not in allowed:
            raise SpecError(f"{cls.name} has no option {option!r} (it has {', '.join(allowed) or 'none'}).")
    return options


def _load_vectors(vectors: Any) -> Any:
    from quipukit.vectors.sources import load_vectors

    return load_vectors(vectors) if isinstance(vectors, str) else vectors


_LOADERS: dict[str, Callable[[Any], Any]] = {"encoder": load_encoder, "vectors": _load_vectors}
