"""Grids: which mechanisms at which settings, and the setups of the published experiments."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quipukit.errors import InputError, QuipukitError, SpecError
from quipukit.mechanisms.base import Mechanism, default_value
from quipukit.obfuscation import mechanism, with_values
from quipukit.registry import mechanism_class
from quipukit.specs import Spec, format_value, spec

# Nothing hidden and everything hidden: every experiment measures both, unless that would send the originals away.
REFERENCES = ("Identity", "Random")
GRIDS = ("adaptive", "fixed")
PAPER = ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "CusText", "SanText", "TEM", "WBB", "AEA", "FEA")


@dataclass(frozen=True)
class Preset:
    """The setup of a published experiment, as far as it does not name a collection."""

    summary: str
    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...]
    n: int
    systems: tuple[tuple[str, str], ...]  # of a retriever and a re-ranker
    measures: tuple[str, ...]
    depth: int | None = None
    attackers: tuple[str, ...] = ("QuIA",)  # the papers' own, for comparison with their numbers


PRESETS = {
    "quipu2025": Preset(
        "QuIPU (ECIR 2025): ten mechanisms over the whole grid, 50 variants, its attacker QuIA alone",
        PAPER,
        (),
        50,
        (("bm25", "minilm"),),
        ("nDCG@10", "SetR"),
    ),
    # The user's model differs from the search system's, as there; with the models that are built in.
    "ecir2024": Preset(
        "ECIR 2024: Vickrey, CMP and Mahalanobis against AEA and FEA, 20 variants, depth 100, BM25 and a dense system",
        ("CMP", "Mahalanobis", "VickreyCMP", "VickreyMhl", "AEA", "FEA"),
        (1.0, 5.0, 10.0, 12.5, 15.0, 17.5, 20.0, 50.0),
        20,
        (("bm25", "minilm"), ("dense", "bm25")),
        ("nDCG@10", "SetR"),
        100,
    ),
}


def preset(name: str) -> Preset:
    """Return a preset by its name."""
    if name not in PRESETS:
        raise SpecError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}.")
    return PRESETS[name]


def expand(
    names: "Sequence[str | Spec | Mechanism]", epsilons: Sequence[float] = (), references: Sequence[str] = REFERENCES
) -> list[Spec]:
    """Return a spec for every setting: a mechanism that names no parameter takes its whole grid.

    ``epsilons`` take the grid's place for mechanisms with an epsilon; a mechanism that is given as an object is one
    setting, and no other may be written as it is. The references come last; none is doubled.

    >>> expand(["AEA", "CMP"], [5, 10])
    [AEA@3, AEA@4, AEA@5, CMP@5, CMP@10, Identity, Random]
    """
    chosen = with_values(names, epsilons, _usual)
    objects: dict[Spec, Mechanism] = {}
    for one in chosen:
        if isinstance(one, Mechanism) and objects.setdefault(one.spec, one) is not one:
            raise InputError(f"two mechanisms are called {one.spec!r}; keep one, or name them apart.", argument="specs")
    for one in chosen:
        if isinstance(one, Spec) and one in objects:
            raise InputError(
                f"{one!r} is given by name and as an object, and a result could not tell them apart; keep one, or give "
                f"the object's class a name of its own.",
                argument="specs",
            )
    added = [spec(name) for name in references]
    for one in added:
        if one in objects and type(objects[one]) is not mechanism_class(one.name):
            raise InputError(
                f"{type(objects[one]).__name__} is called {one!r} like a reference that every experiment measures; "
                "give it a name of its own.",
                argument="specs",
            )
    return list(dict.fromkeys([*(one.spec if isinstance(one, Mechanism) else one for one in chosen), *added]))


def to_place(names: "Sequence[str | Spec | Mechanism]", epsilons: Sequence[float], grid: str) -> list[Spec]:
    """Return the mechanisms whose settings an adaptive grid places: those with an epsilon that nothing sets.

    >>> to_place(["CMP", "TEM@2", "AEA"], [], "adaptive")
    [CMP]
    """
    if grid not in GRIDS:
        raise SpecError(f"grid is {' or '.join(map(repr, GRIDS))} (found {grid!r}).", argument="grid")
    if grid == "fixed" or epsilons:
        return []
    named = [spec(one) for one in names if not isinstance(one, Mechanism)]
    return [one for one in dict.fromkeys(named) if one.value is None and _can_be_placed(mechanism_class(one.name))]


def _can_be_placed(cls: type[Mechanism]) -> bool:
    return cls.parameter == "epsilon" and cls.hides_more == "smaller" and bool(cls.grid) and min(cls.grid) > 0


def _usual(cls: type[Mechanism]) -> tuple[float, ...]:
    """Return the grid of a mechanism; one without a grid is measured at its default, and that is said."""
    if cls.grid:
        return cls.grid
    value = default_value(cls)
    warnings.warn(
        f"{cls.name} has no grid, so it is measured at its default alone ({cls.parameter} = {format_value(value)}); "
        f"set 'grid' in the class, or name values as in {cls.name}@{format_value(value)}.",
        stacklevel=2,
    )
    return (value,)


def bind_grid(
    specs: "Sequence[Spec | Mechanism]", skip: bool, private: bool = False, **resources: Any
) -> tuple[list[Mechanism], list[dict[str, str]]]:
    """Bind every setting, and return with them those that were refused, each with the reason.

    Without ``skip`` the first refusal ends it, before any work is done: a grid with a hole is not what was asked for.
    ``private`` refuses mechanisms that send the original.
    """
    bound: dict[Spec, Mechanism] = {}
    refused: list[dict[str, str]] = []
    for one in specs:
        name = repr(one.spec if isinstance(one, Mechanism) else one)
        try:
            made = mechanism(one, **resources)
            if private and made.sends_original:
                raise SpecError(
                    f"{made.name} sends the original queries, and a search system is over the network; leave it out, "
                    "or pass send_originals=True.",
                    argument="send_originals",
                )
        except QuipukitError as fault:
            if not skip:
                raise SpecError(
                    f"{name} cannot be run: {fault} The rest runs with skip_invalid=True.",
                    argument=("skip_invalid", *getattr(fault, "arguments", ())),
                ) from None
            refused.append({"spec": name, "reason": str(fault)})
            continue
        bound.setdefault(made.spec, made)  # two ways to write one setting are one setting
    if not bound or (all(made.strategy == "reference" for made in bound.values()) and refused):
        raise SpecError(f"no setting is left to run; the first refusal was: {refused[0]['reason']}")
    return list(bound.values()), refused
