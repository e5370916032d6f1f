"""The recommendation in sentences. *Certified (statistics)* is said of bounds that survive the choice, never else."""

import math
from typing import TYPE_CHECKING

from quipukit.guarantees import ASKED_AGAIN
from quipukit.measures.frontier import MOST_POOLED, pools_much
from quipukit.measures.resampling import FEW
from quipukit.measures.strongest import STRONGEST
from quipukit.specs import format_value

if TYPE_CHECKING:
    from quipukit.recommend.model import Choice, Recommendation

CERTIFIED = "certified (statistics)"

# A risk below this is reported as none.
_NOTHING = 1e-9

# A setting that keeps less than this of the original's utility is not called of use without proof.
_USELESS = 0.1


def sentence(advice: "Recommendation") -> str:
    """Return the recommendation, or why there is none, in a sentence or two."""
    best = advice.best
    if best is None:
        return _none_fits(advice) if advice.candidate is None else _none_certified(advice, advice.candidate)
    text = (
        f"Use {best.words}, {CERTIFIED}{_against(advice)}: with {100 * advice.level:g} % confidence its risk is at "
        f"most {_digits(best.risk_high, advice.max_risk)}, the choice among {_settings(advice)} allowed for. On these "
        f"queries {_seen(advice, best)}. {_this_n(best)}"
    )
    text += _alone(advice) + _pools(best)
    useless = best.kept is not None and best.kept < _USELESS and _use(advice)
    return f"{text} But random words find as much." if useless else text


def notes(advice: "Recommendation") -> tuple[str, ...]:
    """Return what to know besides the sentence, in a sentence or two each."""
    return tuple(note for note in (write(advice) for write in _NOTES) if note)


# --- the sentence -------------------------------------------------------------------------------------------------


def _none_certified(advice: "Recommendation", candidate: "Choice") -> str:
    reaching = "" if advice.min_utility is None else f" that reaches {advice.measure} {advice.min_utility:g}"
    return (
        f"No setting{reaching} can be {CERTIFIED} to keep the risk at {advice.max_risk:g} or below with "
        f"{_count(advice.covered)} and {_settings(advice)}. The best candidate is {candidate.words}: on these queries "
        f"{_seen(advice, candidate)}, but its risk could be as high as "
        f"{_digits(candidate.risk_high, advice.max_risk)}. {_needed(advice, candidate)} {_this_n(candidate)}"
        f"{_alone(advice)}{_pools(candidate)}"
    )


def _against(advice: "Recommendation") -> str:
    """Name the attacker where it is not the strongest of several."""
    return "" if advice.attacker == STRONGEST else f" against {advice.attacker} alone"


def _alone(advice: "Recommendation") -> str:
    """Say that one attacker is not all there are: settings that are safe from QuIA fall to others."""
    if advice.attacker == STRONGEST or advice.other_attackers:  # of these, a note tells
        return ""
    few = "find most queries where it finds none" if advice.attacker == "QuIA" else "may find more"
    return (
        f" Do not take it for private: {advice.attacker} was the only attacker, and others {few} (docs/attackers.md). "
        "Evaluate with the default attackers first, without --attackers and without a preset."
    )


def _pools(choice: "Choice") -> str:
    """Say that a setting pools too much for its utility to count; it is chosen only where no other one would do."""
    if not choice.pools_much or choice.pooled_share is None:
        return ""
    return (
        f" Do not rely on its utility: it pools {100 * choice.pooled_share:.1f} % of the collection for a query, where "
        f"more than {100 * MOST_POOLED:g} % lets even random words find relevant documents, and no setting that pools "
        "less would do."
    )


def _this_n(choice: "Choice") -> str:
    """Say that the risk is that of one N: whoever has seen more variants of a query knows more."""
    count = "1 variant" if choice.sent == 1 else f"{choice.sent} variants"
    if ASKED_AGAIN in choice.guarantee:
        return f"The risk holds for {count} per query, {ASKED_AGAIN}."
    return f"The risk holds for {count} per query: more of them, as when a query is asked again, raise it."


def _needed(advice: "Recommendation", candidate: "Choice") -> str:
    needs = advice.candidate_needs or math.inf
    if needs < math.inf:
        text = f"To certify it takes about {needs:,.0f} queries with results like these"
    else:
        text = "No number of queries with results like these would certify it"
    least = advice.least_risky
    if advice.min_utility is None and least.name != candidate.name and advice.least_needs < needs:
        text += f"; {least.name}, the least risky, takes about {advice.least_needs:,.0f}"
    if advice.any_needs < min(needs, advice.least_needs):
        text += f"; a setting without a hit takes {advice.any_needs:,.0f}"
    return f"{text}."


def _none_fits(advice: "Recommendation") -> str:
    least, within, reaches = advice.least_risky, advice.within_risk, advice.within_utility
    if within is None:
        text = (
            f"No setting keeps the risk at {advice.max_risk:g} or below. The least risky is {least.words}: risk "
            f"{_digits(least.risk, advice.max_risk)}, {advice.measure} {least.utility:.2f}{_share(least)}."
        )
    else:
        text = (
            f"No setting reaches {advice.measure} {advice.min_utility:g} at a risk of {advice.max_risk:g} or below. "
            f"The best within that risk{_of_those(advice, within)}, by the means on these queries, is {within.words}: "
            f"risk {within.risk:.2f}, {advice.measure} {_digits(within.utility, advice.min_utility)}{_share(within)}."
        )
    if advice.min_utility is None:
        return text
    if reaches is None:
        return f"{text} No setting reaches {advice.min_utility:g} at any risk; the most is {_most(advice)}."
    return (
        f"{text} To reach {advice.min_utility:g} takes a risk of {_digits(reaches.risk, advice.max_risk)}: "
        f"{reaches.words}, {advice.measure} {reaches.utility:.2f}{_share(reaches)}."
    )


def _of_those(advice: "Recommendation", choice: "Choice") -> str:
    """Say that others were not looked at, because they pool too much."""
    others = pools_much(advice.settings["pooled_share"]).any() and not choice.pools_much
    return f" of those that pool at most {100 * MOST_POOLED:g} % of the collection" if others else ""


def _seen(advice: "Recommendation", choice: "Choice") -> str:
    """Say what users find and what the attacker finds."""
    if choice.kept is None:
        kept = f"users reach {advice.measure} {choice.utility:.2f}"
    elif choice.kept >= 1:
        kept = f"users keep all of the search quality ({advice.measure})"
    else:
        kept = f"users keep {100 * choice.kept:.0f} % of the search quality ({advice.measure})"
    return f"{kept}, and {_guessed(advice, choice)}"


def _guessed(advice: "Recommendation", choice: "Choice") -> str:
    who = f"{advice.attacker} attacker" if advice.other_attackers else "attacker"
    who = f"{'an' if who[0].lower() in 'aeiou' else 'a'} {who}"
    if advice.attacker == STRONGEST:
        who = f"the strongest of {len(advice.other_attackers)} attackers"
    if advice.persona == "motivated":
        return f"for {who} who reads on until the query comes, its mean reciprocal rank is {choice.risk:.2f}"
    reads = {"lazy": "one guess", "active": "ten guesses"}
    guesses = reads.get(advice.persona, f"{advice.persona.removeprefix('active@')} guesses")
    return f"{who} who looks at {guesses} finds {_cases(choice.risk, advice.queries)}"


def _cases(risk: float, queries: int) -> str:
    if risk <= _NOTHING:
        return f"none of the {_count(queries)}"
    return f"the query in {'fewer than 1' if risk < 0.005 else f'about {100 * risk:.0f}'} of 100 cases"


def _most(advice: "Recommendation") -> str:
    row = advice.settings.loc[advice.settings["utility"].idxmax()]
    return f"{row['utility']:.2f} ({row['mechanism']} at {row['parameter']} {format_value(row['value'])})"


def _count(queries: int) -> str:
    return "1 query" if queries == 1 else f"{queries} queries"


def _settings(advice: "Recommendation") -> str:
    count = len(advice.settings)
    return "1 setting" if count == 1 else f"{count} settings"


def _digits(number: float, limit: float | None) -> str:
    """Write a number so that it stands on the same side of the limit as it does: 0.104, not 0.10, beside 0.1."""
    for digits in range(2, 9):
        text = f"{number:.{digits}f}"
        if limit is None or math.isclose(number, limit) or (float(text) - limit) * (number - limit) > 0:
            break
    return text


def _share(choice: "Choice") -> str:
    kept = "" if choice.kept is None else f", {100 * choice.kept:.0f} % of the original's"
    return f"{kept}{_pooling(choice)}"


def _pooling(choice: "Choice") -> str:
    if not choice.pools_much or choice.pooled_share is None:
        return ""
    return f", pooling {100 * choice.pooled_share:.1f} % of the collection, too much to count"


# --- notes --------------------------------------------------------------------------------------------------------


def _meaning(advice: "Recommendation") -> str:
    if advice.best is None:
        return ""
    return (
        f"{CERTIFIED[0].upper()}{CERTIFIED[1:]} holds for queries like these, "
        f"{'these attackers' if advice.attacker == STRONGEST else 'this attacker'} and this log. It allows "
        f"for the choice among the {_settings(advice)} of this result, not for settings, attackers or budgets that "
        "were dropped after a look at their risks. It is no theorem."
    )


def _others(advice: "Recommendation") -> str:
    if not advice.other_attackers:
        return ""
    others = ", ".join(advice.other_attackers)
    if advice.attacker == STRONGEST:
        return (
            f"Risks are those of the strongest attacker at each setting, of {others}: the risk is at least that. Their "
            "bounds hold for all of them at once; an attacker that is not among them may find more."
        )
    return f"This is the risk against {advice.attacker} alone; the result also holds risks against {others}."


def _one_n(advice: "Recommendation") -> str:
    if not advice.other_ns:
        return ""
    others = ", ".join(map(str, advice.other_ns))
    return f"The settings are those of N = {advice.least_risky.n}; the result also holds N = {others}."


def _coverage(advice: "Recommendation") -> str:
    if advice.coverage >= 1:
        return ""
    return (
        f"The attacker's log holds {advice.covered} of the {advice.queries} originals, so no risk can exceed "
        f"{advice.coverage:.2f}; the bounds are for queries that it holds."
    )


def _use(advice: "Recommendation") -> str:
    if advice.best is None or advice.gain is None or advice.best.mechanism == "Random":
        return ""
    difference, p = advice.gain
    if p < 1 - advice.level and difference > 0:
        return ""
    return (
        f"It finds no more than random words do, as far as {_count(advice.judged)} can tell: {advice.measure} differs "
        f"by {difference:.3f}, p = {p:.2g} after correction for {_settings(advice)}. A higher risk is the price of "
        "finding anything."
    )


def _second(advice: "Recommendation") -> str:
    if advice.best is None:
        return ""
    if advice.runner_up is None or advice.lead is None:
        return f"No other mechanism than {advice.best.mechanism} has a setting that can be certified."
    return (
        f"Runner-up: {advice.runner_up.name}, certified too, {advice.measure} lower by {advice.lead:.3f} on these "
        f"queries at risk {advice.runner_up.risk:.2f}{_pooling(advice.runner_up)}. Both were chosen on these queries, "
        "so the difference is an estimate without an interval; let guarantee and cost decide where it is small."
    )


def _off_the_frontier(advice: "Recommendation") -> str:
    if advice.best is None or advice.beaten_by is None:
        return ""
    other = advice.beaten_by
    return (
        f"It is not on the frontier: {other.name} has risk {other.risk:.2f} and {advice.measure} {other.utility:.2f} "
        "on these queries, but cannot be certified (its risk could be as high as "
        f"{_digits(other.risk_high, advice.max_risk)})."
    )


def _too_large(advice: "Recommendation") -> str:
    other = advice.passed_over
    if other is None or other.pooled_share is None:
        return ""
    return (
        f"Passed over: {other.name}, certified too, with {advice.measure} {other.utility:.2f}. It pools "
        f"{100 * other.pooled_share:.1f} % of the collection for a query, and with more than {100 * MOST_POOLED:g} % "
        "even random words find relevant documents."
    )


def _luck(advice: "Recommendation") -> str:
    if advice.best is None:
        return ""
    text = (
        f"On new queries {advice.measure} is at least {advice.best.utility_low:.2f}, with {100 * advice.level:g} % "
        "confidence"
    )
    if len(advice.settings) == 1:
        return f"{text}."
    return f"{text}; the {advice.best.utility:.2f} seen here is biased upward: the best of many is also lucky."


def _promise(advice: "Recommendation") -> str:
    if advice.best is None:
        return ""
    best = advice.best
    composed = "" if best.budget is None else f"; N = {best.n}, composed budget {format_value(best.budget)}"
    return f"Guarantee: {best.guarantee or 'not stated'}{composed}."


def _unsent(advice: "Recommendation") -> str:
    if advice.best is None or not advice.best.nothing:
        return ""
    return f"For {advice.best.nothing} of the queries nothing was sent; they count as risk 0."


def _few(advice: "Recommendation") -> str:
    if advice.queries >= FEW:
        return ""
    return f"{_count(advice.queries)} can show little; use {FEW} or more."


_NOTES = (
    _meaning,
    _others,
    _one_n,
    _coverage,
    _use,
    _second,
    _off_the_frontier,
    _too_large,
    _luck,
    _promise,
    _unsent,
    _few,
)
