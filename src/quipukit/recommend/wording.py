"""The recommendation in sentences."""

import math
import re
from typing import TYPE_CHECKING

from quipukit.measures.bootstrap import LEVEL
from quipukit.specs import format_value

if TYPE_CHECKING:
    from quipukit.recommend.model import Choice, Recommendation

# A risk below this is told as none.
_NOTHING = 1e-9

# A setting that keeps less than this of the original's utility is not called of use without proof.
_USELESS = 0.1


def sentence(found: "Recommendation") -> str:
    """Return the recommendation, or why there is none, in a sentence or two."""
    best = found.best
    if best is None:
        return _no_setting(found)
    text = f"Use {best.words}: {_found(found, best)}, and {_seen(found.attacker, best, found.queries)}."
    useless = best.kept is not None and best.kept < _USELESS and _use(found)
    return f"{text} But random words find as much." if useless else text


def notes(found: "Recommendation") -> tuple[str, ...]:
    """Return what to know beside the sentence, a sentence or two each."""
    return tuple(note for note in (tell(found) for tell in _NOTES) if note)


def _found(found: "Recommendation", choice: "Choice") -> str:
    if choice.kept is None:
        return f"users reach {found.measure} {choice.utility:.2f}"
    if choice.kept >= 1:
        return f"users keep all of the search quality ({found.measure})"
    return f"users keep {100 * choice.kept:.0f} % of the search quality ({found.measure})"


def _seen(attacker: str, choice: "Choice", queries: int) -> str:
    *names, kind = attacker.split(" ")
    who = f"{' '.join(names)} attacker" if names else "attacker"
    who = f"{'an' if who[0].lower() in 'aeiou' else 'a'} {who}"
    if kind == "motivated":
        return f"for {who} who reads on until the query comes, its mean reciprocal rank is {choice.risk:.2f}"
    depth = re.fullmatch(r"active@(\d+)", kind)
    looks = {"lazy": "one guess", "active": "ten guesses"}.get(kind, f"{depth[1]} guesses" if depth else kind)
    return f"{who} who looks at {looks} finds {_cases(choice.risk, queries)}"


def _cases(risk: float, queries: int) -> str:
    if risk <= _NOTHING:
        return f"none of the {_count(queries)}"
    return f"the query in {'fewer than 1' if risk < 0.005 else f'about {100 * risk:.0f}'} of 100 cases"


def _no_setting(found: "Recommendation") -> str:
    least, within, reaches = found.least_risky, found.within_risk, found.within_utility
    if within is None:
        text = (
            f"No setting keeps the risk at {found.max_risk:g} or below. The least risky is {least.words}: risk "
            f"{_digits(least.risk, found.max_risk)}, {found.measure} {least.utility:.2f}{_share(least)}."
        )
    else:
        text = (
            f"No setting reaches {found.measure} {found.min_utility:g} at a risk of {found.max_risk:g} or below. The "
            f"best within that risk is {within.words}: risk {within.risk:.2f}, {found.measure} "
            f"{_digits(within.utility, found.min_utility)}{_share(within)}."
        )
    if found.min_utility is None:
        return text
    if reaches is None:
        return f"{text} No setting reaches {found.min_utility:g} at any risk; the most is {_most(found)}."
    return (
        f"{text} To reach {found.min_utility:g} takes a risk of {_digits(reaches.risk, found.max_risk)}: "
        f"{reaches.words}, {found.measure} {reaches.utility:.2f}{_share(reaches)}."
    )


def _most(found: "Recommendation") -> str:
    row = found.settings.loc[found.settings["utility"].idxmax()]
    return f"{row['utility']:.2f} ({row['mechanism']} at {row['parameter']} {format_value(row['value'])})"


def _count(queries: int) -> str:
    return "1 query" if queries == 1 else f"{queries} queries"


def _digits(number: float, limit: float | None) -> str:
    """Write a number so that it stands on the same side of the limit as it does: 0.104, not 0.10, beside 0.1."""
    for digits in range(2, 9):
        text = f"{number:.{digits}f}"
        if limit is None or math.isclose(number, limit) or (float(text) - limit) * (number - limit) > 0:
            break
    return text


def _share(choice: "Choice") -> str:
    return "" if choice.kept is None else f", {100 * choice.kept:.0f} % of the original's"


def _sure(found: "Recommendation") -> str:
    best, safe = found.best, found.safe
    if best is None:
        return ""
    if found.keeps_budget:
        bound = _digits(best.risk_high, found.max_risk)
        return f"The upper bound of the risk, {bound}, keeps the budget of {found.max_risk:g} too."
    text = (
        f"With {_count(found.queries)} the risk could be as high as {_digits(best.risk_high, found.max_risk)}, above "
        f"the budget of {found.max_risk:g}."
    )
    if safe is not None:
        return (
            f"{text} The best setting whose upper bound keeps it is {safe.name}: risk at most "
            f"{_digits(safe.risk_high, found.max_risk)}, {found.measure} {safe.utility:.2f}{_share(safe)}."
        )
    text += " No setting's upper bound keeps it."
    needed = enough_queries(found.max_risk, found.level)
    if found.queries < needed < math.inf:
        text += f" It takes {needed:.0f} queries or more to show so low a risk, even where none of them is found."
    return text


def enough_queries(max_risk: float, level: float = LEVEL) -> float:
    """Return how many queries, none of them found, it takes for the upper bound of a risk to keep a budget.

    >>> enough_queries(0.1)
    36.0
    """
    if max_risk <= 0:
        return math.inf
    return 1.0 if max_risk >= 1 else float(math.ceil(math.log((1 - level) / 2) / math.log1p(-max_risk)))


def _second(found: "Recommendation") -> str:
    if found.best is None:
        return ""
    if found.runner_up is None or found.lead is None:
        return f"No other mechanism than {found.best.mechanism} has a setting that fits."
    difference, low, high, p = found.lead
    text = (
        f"Runner-up: {found.runner_up.name}, {found.measure} lower by {difference:.3f} [{low:.3f}, {high:.3f}] "
        f"at risk {found.runner_up.risk:.2f}"
    )
    if p < 1 - found.level:
        return f"{text} (p = {p:.2g})."
    return f"{text}. The difference is not significant (p = {p:.2g}): take either, by its guarantee or its cost."


def _use(found: "Recommendation") -> str:
    if found.best is None or found.gain is None or found.best.mechanism == "Random":
        return ""
    difference, low, high, p = found.gain
    if p < 1 - found.level and difference > 0:
        return ""
    return (
        f"It finds no more than random words do, as far as {_count(found.queries)} can tell: {found.measure} differs "
        f"by {difference:.3f} [{low:.3f}, {high:.3f}], p = {p:.2g}. A higher risk is the price of finding anything."
    )


def _luck(found: "Recommendation") -> str:
    if found.best is None:
        return ""
    text = f"Of {found.replicates:,} resamples of the queries {100 * found.chosen_share:.0f} % choose the same setting"
    if found.nothing_share > 0:
        text += f", and {100 * found.nothing_share:.0f} % find none that fits"
    if found.expected_utility is None or len(found.settings) == 1:
        return f"{text}."
    return (
        f"{text}. The best of {len(found.settings)} tends to be a lucky one: on new queries expect {found.measure} "
        f"near {found.expected_utility:.2f} [{found.expected_low:.2f}, {found.expected_high:.2f}] and a risk near "
        f"{found.expected_risk:.2f}."
    )


def _promise(found: "Recommendation") -> str:
    if found.best is None:
        return ""
    best = found.best
    composed = "" if best.budget is None else f"; N = {best.n}, composed budget {format_value(best.budget)}"
    return f"Guarantee: {best.guarantee or 'not stated'}{composed}."


def _unsent(found: "Recommendation") -> str:
    if found.best is None or not found.best.nothing:
        return ""
    return f"For {found.best.nothing} of the queries nothing was sent; they count as risk 0."


_NOTES = (_sure, _use, _second, _luck, _promise, _unsent)
