"""Names and phrases that several parts of the report use."""

from collections.abc import Mapping, Sequence
from typing import Any

from quipukit.measures.strongest import STRONGEST
from quipukit.report.table_model import interval, number

_RISKS = {"lazy": "P@1", "active": "R@10", "motivated": "RR"}


def risk_name(persona: str) -> str:
    """Return the measure that a persona's risk is.

    >>> risk_name("lazy"), risk_name("Bayes motivated"), risk_name("active@20")
    ('P@1', 'RR', 'R@20')
    """
    persona = persona.rsplit(maxsplit=1)[-1]
    return _RISKS.get(persona, persona.replace("active@", "R@"))


def against(label: str) -> str:
    """Return a heading for what is said about an attacker and persona.

    >>> against("lazy"), against("strongest lazy")
    ('Against the lazy persona', 'Against the strongest attacker, lazy')
    """
    attacker, _, persona = label.rpartition(" ")
    return f"Against the strongest attacker, {persona}" if attacker == STRONGEST else f"Against the {label} persona"


def risk_axis(label: str) -> str:
    """Return the title of an axis of risks.

    >>> risk_axis("lazy"), risk_axis("strongest active")
    ('risk against the lazy persona (P@1)', 'risk against the strongest attacker, active persona (R@10)')
    """
    attacker, _, persona = label.rpartition(" ")
    whom = f"strongest attacker, {persona}" if attacker == STRONGEST else label
    return f"risk against the {whom} persona ({risk_name(label)})"


def scores_text(row: Mapping[str, Any]) -> list[str]:
    """Return QuIPU and hypervolume of a row of `View.scores`, each with its interval where it has one."""
    scores = {"QuIPU": ("quipu", "low", "high"), "HV": ("hypervolume", "hypervolume_low", "hypervolume_high")}
    return [
        f"{name} {number(row[mean])}" + (f" {interval(row[low], row[high])}" if row[low] == row[low] else "")
        for name, (mean, low, high) in scores.items()
    ]


def join(names: Sequence[str]) -> str:
    """Return a list as a phrase.

    >>> join(["CMP", "TEM", "AEA"])
    'CMP, TEM and AEA'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter, the others unchanged.

    >>> capitalized("the QuIPU score")
    'The QuIPU score'
    """
    return f"{sentence[:1].upper()}{sentence[1:]}"
