"""What to know beside the numbers of a comparison, in sentences."""

from typing import TYPE_CHECKING

import pandas as pd

from quipukit.measures.curves import BACKWARDS, NARROW, SHORT, SINGLE
from quipukit.measures.resampling import FEW
from quipukit.measures.risk import risk_label
from quipukit.measures.sides import Grid
from quipukit.specs import format_value

if TYPE_CHECKING:
    from quipukit.results import Result

Setting = tuple[str, str, float]
Grids = dict[tuple[str, str], Grid]  # by attacker and persona
DIRECTIONS = "other directions"
_DUST = 1e-12


def only_in_one(settings: list[list[Setting]], both: set[Setting]) -> list[str]:
    """Name what only one of the results has."""
    notes = []
    for which, own, others in (("first", settings[0], settings[1]), ("second", settings[1], settings[0])):
        theirs = {mechanism for mechanism, *_ in others}
        alone = [mechanism for mechanism in dict.fromkeys(name for name, *_ in own) if mechanism not in theirs]
        if alone:
            notes.append(f"Only in the {which}: {', '.join(alone)}.")
        shared = [one for one in own if one not in both and one[0] in theirs]
        if shared:
            names = ", ".join(f"{mechanism}@{format_value(value)}" for mechanism, _, value in shared)
            notes.append(f"Settings only in the {which}, left out of the scores: {names}.")
    return notes


def all_equal(means: pd.DataFrame) -> list[str]:
    """Say where nothing differs at all."""
    return ["All risks and utilities are equal."] if (means["difference"].abs() <= _DUST).all() else []


def without_a_curve(lone: list[str]) -> list[str]:
    """Name the mechanisms with one common setting."""
    if not lone:
        return []
    return [f"One common setting makes no curve and has no score, see the settings: {', '.join(lone)}."]


def not_ranked(scores: pd.DataFrame) -> list[str]:
    """Name the mechanisms that cannot be compared by their scores, and say why."""
    if scores.empty or scores["rankable"].all():
        return []
    notes = []
    texts = {
        SHORT: f"Their curves span less than {100 * NARROW:g} % of the diagonal in one of the results, so their scores "
        "are close to 0 whatever they do.",
        BACKWARDS: "On the whole their curves run backwards in one of the results, so their scores have the sign of "
        "their opposites; if larger values hide more, declare hides_more.",
        DIRECTIONS: "By what the results say, smaller values hide more in one and larger in the other; each curve is "
        "read its own way, and QuIPU scores of such curves do not compare. Set hides_more right in both.",
    }
    texts[SINGLE] = texts[SHORT]
    for text in dict.fromkeys(texts.values()):
        rows = scores[scores["unranked"].map(texts.get) == text]
        if len(rows):
            notes.append(f"Not ranked, see the settings: {', '.join(dict.fromkeys(rows['mechanism']))}. {text}")
    return notes


def log_ceilings(first: "Result", second: "Result") -> list[str]:
    """Say where the attacker's log lacks originals, which is a ceiling for every risk."""
    ceilings = (("first", first.log_ceiling), ("second", second.log_ceiling))
    return [f"In the {which} {ceiling}" for which, ceiling in ceilings if ceiling]


def attackers_in_one(sides: list[Grids]) -> list[str]:
    """Name the attackers and personas that only one of the results has."""
    labels = labels_of(sides)
    return [
        f"Attackers only in the {which}: {', '.join(alone)}."
        for which, own, others in (("first", *labels), ("second", *reversed(labels)))
        if (alone := [name for name in own if name not in others])
    ]


def labels_of(sides: list[Grids]) -> list[list[str]]:
    """Return what the risks of each result are called, so that equal names are equal risks."""
    several = len({attacker for side in sides for attacker, _ in side}) > 1
    return [[risk_label(*who, several) for who in side] for side in sides]


def few_queries(sizes: list[int]) -> list[str]:
    """Say where there are too few queries for a test to keep its level."""
    least = min(sizes)
    if least >= FEW:
        return []
    return [
        f"{least} {'query is' if least == 1 else 'queries are'} few: where differences are skewed, a test at 5 % may "
        f"be wrong more often than that. Trust it from {FEW} queries on."
    ]


def few_replicates(settings: set[Setting], replicates: int, level: float) -> list[str]:
    """Say where no setting could possibly be significant."""
    least = 2 * len(settings) / (replicates + 1)
    if least < 1 - level:
        return []
    return [f"With {replicates} replicates no setting of {len(settings)} can be significant after Holm; draw more."]
