"""The choice among settings, with bounds that survive it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.deprecation import warn_deprecated
from quipukit.errors import InputError
from quipukit.frames import SETTING
from quipukit.measures.frontier import beats, pareto, pools_much
from quipukit.measures.intervals import LEVEL, Floats, lower_bounds, queries_needed, tail
from quipukit.measures.resampling import flip_bound
from quipukit.measures.risk import are_hits, is_persona
from quipukit.measures.sides import Grid, HighestSide, grids
from quipukit.measures.strongest import STRONGEST, strongest_bounds
from quipukit.recommend.kept import kept_shares, original_utility, reference_utilities
from quipukit.recommend.model import SLACK, Choice, Recommendation

if TYPE_CHECKING:
    from quipukit.results import Result

REFERENCE = "reference"  # the strategy of Identity and Random
RANDOM = "Random"


def recommend(
    result: "Result",
    *,
    max_risk: float = 0.1,
    persona: str | None = None,
    attacker: str | None = None,
    min_utility: float | None = None,
    measure: str | None = None,
    system: str | None = None,
    include_references: bool = False,
    level: float = LEVEL,
    n: int | None = None,
) -> Recommendation:
    """Return the setting of highest mean utility among those certified to have a risk of at most ``max_risk``.

    ``persona`` is lazy (one guess), active (ten; the default) or motivated (reads on), or another of the result's;
    ``attacker`` is one of the result's; where none is named, at every setting the strongest of all, with bounds that
    hold for all of them at once. ``min_utility`` asks for that much mean utility too; ``measure`` and ``system`` are
    the first where none is named. The references (Identity, Random) compete only with ``include_references``. Of equal
    utilities the lower risk wins. Settings that pool more than 2 % of the collection are chosen only where no other one
    keeps the limits, and the sentence says so. In a sweep over N, ``n`` is the one that is looked at, the largest where
    none is named. What certified means, and what it does not, stands at the top of `quipukit.recommend`.
    """
    for name, limit in (("max_risk", max_risk), ("min_utility", min_utility)):
        if limit is not None and not 0 <= limit <= 1:
            raise InputError(f"{name} must lie between 0 and 1 (found {limit!r}).")
    result, other_ns = _one_n(result, n)
    grid, others = _grid(result, attacker, persona, result.measure_named(measure), system)
    strategies = result.strategies
    candidates = [
        number
        for number, (mechanism, *_) in enumerate(grid.settings)
        if include_references or strategies[mechanism] != REFERENCE
    ]
    if not candidates:
        raise InputError("the result holds references alone; run a mechanism, or let them in (include_references).")
    _refuse_empty_budget(result, max_risk)
    alpha = 2 * tail(level) / len(candidates)
    hits = are_hits(grid.risk_measure, len(result.seeds))
    risk, utility = grid.risk.columns(candidates), grid.utility.columns(candidates)
    # An original that the log lacks cannot be found, and says nothing about those that can.
    held = risk.known & np.isin(grid.qids, sorted(result.in_log))
    rivals = [rival.scores[held] for rival in (risk.rivals if isinstance(risk, HighestSide) else (risk,))]
    found_out = risk.scores[held]
    r, u = risk.means, utility.means
    floor = 0.0 if min_utility is None else min_utility
    original = original_utility(grid)

    table = pd.DataFrame([grid.settings[number] for number in candidates], columns=list(SETTING))
    columns = [*SETTING, "strategy", "guarantee", "private", "n", "variants", "budget", "nothing", "pooled_share"]
    table = table.merge(result.settings[columns], on=list(SETTING), validate="1:1").astype({"private": bool})
    high = strongest_bounds(rivals, alpha, hits=hits)
    table = table.assign(
        risk=r,
        risk_high=high,
        utility=u,
        utility_low=lower_bounds(utility.measured, alpha, hits=False),
        kept=kept_shares(result, grid, system)[candidates],
        certified=high <= max_risk + SLACK,
    )
    choices = [_choice(row) for row in table.to_dict("records")]
    table["fits"] = (r <= max_risk + SLACK) & (u >= floor - SLACK)
    counted = ~pools_much(table["pooled_share"])
    table["front"] = pareto(r, u)
    table["frontier"] = False
    table.loc[counted, "frontier"] = pareto(r[counted], u[counted])

    def pick(risks: Floats, least: float = floor) -> int:
        # Bounds hold for all settings at once, so preferring those that count leaves them valid.
        found = select(np.where(counted, risks, np.inf), u, max_risk, least, ties=r)
        return found if found >= 0 else select(risks, u, max_risk, least, ties=r)

    def choice(number: int) -> Choice | None:
        return choices[number] if number >= 0 else None

    def needs(number: int) -> float:
        return queries_needed(found_out[:, number], max_risk, alpha / len(rivals), hits=hits)

    best, second, beaten_by, gain = pick(high), -1, -1, None
    if best >= 0:
        second = pick(np.where(table["mechanism"] == choices[best].mechanism, np.inf, high))
        beaten_by = _beaten_by(r, u, best, counted)
        gain = _gain(grid, utility.measured[:, best], len(candidates))
    candidate = pick(r) if best < 0 else -1
    # Of equal risks the higher utility wins.
    by_risk = [int(number) for number in np.lexsort((-u, r))]
    reaching = [number for number in by_risk if u[number] >= floor - SLACK]
    return Recommendation(
        attacker=grid.attacker,
        persona=grid.persona,
        other_attackers=others,
        other_ns=other_ns,
        measure=grid.measure,
        system=system or result.systems[0],
        max_risk=max_risk,
        min_utility=min_utility,
        level=level,
        queries=int(risk.known.sum()),
        covered=len(found_out),
        judged=int(utility.known.sum()),
        coverage=result.log_coverage,
        original=original,
        best=choice(best),
        runner_up=choice(second),
        lead=float(u[best] - u[second]) if second >= 0 else None,
        gain=gain,
        beaten_by=choice(beaten_by),
        passed_over=choice(_passed_over(high, u, best, ~counted, max_risk)),
        candidate=choice(candidate),
        candidate_needs=needs(candidate) if candidate >= 0 else None,
        least_risky=choices[by_risk[0]],
        least_needs=needs(by_risk[0]),
        any_needs=queries_needed(np.zeros(1), max_risk, alpha / len(rivals), hits=hits),
        within_risk=choice(pick(r, 0.0)),
        within_utility=choice(reaching[0] if reaching else -1),
        settings=table,
    )


def select(risk: Floats, utility: Floats, max_risk: float, min_utility: float = 0.0, ties: Floats | None = None) -> int:
    """Return the setting of highest utility within the limits, -1 where there is none.

    Of equal utilities the lower risk wins, of equal risks the first. Where ``risk`` is a bound, ``ties`` are the risks
    themselves: the choice then lies on the frontier of those within the limits.
    """
    fits = (risk <= max_risk + SLACK) & (utility >= min_utility - SLACK)
    if not fits.any():
        return -1
    level = fits & (utility >= utility[fits].max() - SLACK)
    return int(np.where(level, risk if ties is None else ties, np.inf).argmin())


def _beaten_by(risk: Floats, utility: Floats, own: int, counted: NDArray[np.bool_]) -> int:
    """Return which setting beats a chosen one in the means, though it could not be certified; -1 where none does."""
    others = np.flatnonzero(beats(risk, utility)[:, own] & counted)
    return int(min(others, key=lambda number: (-utility[number], risk[number]))) if len(others) else -1


def _passed_over(bounds: Floats, utility: Floats, best: int, much: NDArray[np.bool_], max_risk: float) -> int:
    """Return the certified setting that finds more than the chosen one, but pools too much to count; -1 where none."""
    if best < 0 or much[best]:
        return -1
    better = much & (utility > utility[best] + SLACK)
    return select(np.where(better, bounds, np.inf), utility, max_risk)


def _one_n(result: "Result", n: int | None) -> "tuple[Result, tuple[int, ...]]":
    """Return the result of one N, the largest where none is named, and the other N of a sweep."""
    chosen = result.ns[-1] if n is None else n
    if not result.is_sweep and n is None:
        return result, ()
    return result.at(chosen), tuple(one for one in result.ns if one != chosen) if result.is_sweep else ()


def _refuse_empty_budget(result: "Result", max_risk: float) -> None:
    """Refuse a budget that every setting keeps because the log lacks most originals."""
    ceiling = result.log_coverage
    if ceiling < 1 and max_risk >= ceiling - SLACK:
        raise InputError(
            f"the attacker's log holds {len(result.in_log)} of the {len(result.queries)} originals, so no risk can "
            f"exceed {ceiling:.3g}, and a budget of {max_risk:g} is kept by anything; evaluate with the log completed "
            "(inject), with a log that holds more of them, or ask for a lower max_risk."
        )


def _gain(grid: Grid, utility: Floats, settings: int) -> tuple[float, float] | None:
    words = reference_utilities(RANDOM, grid)
    if words is None:
        return None
    differences = utility - words
    return float(differences.mean()), min(1.0, settings * flip_bound(differences))


def _choice(row: dict[Any, Any]) -> Choice:
    cells: dict[str, Any] = {name: None if cell != cell else cell for name, cell in row.items()}
    return Choice(**cells)


def _grid(
    result: "Result", attacker: str | None, persona: str | None, measure: str, system: str | None
) -> tuple[Grid, tuple[str, ...]]:
    """Return risk and utility for one attacker and persona, and the other attackers of the result."""
    utilities = result.utilities(system)
    measured = grids(result.risks(), utilities[utilities["measure"] == measure])
    by_risk = {(grid.attacker, grid.persona): grid for grid in measured.values()}
    attackers = list(dict.fromkeys(name for name, _ in by_risk))
    if attacker is not None and persona is None and attacker not in attackers and is_persona(attacker):
        warn_deprecated(f"attacker={attacker!r} is deprecated: it is a persona; write persona={attacker!r}.")
        attacker, persona = None, attacker
    attacker, persona = attacker or (STRONGEST if STRONGEST in attackers else attackers[0]), persona or "active"
    if attacker not in attackers:
        raise InputError(f"there is no attacker {attacker!r}; the result has {', '.join(attackers)}.")
    if (attacker, persona) not in by_risk:
        known = ", ".join(own for name, own in by_risk if name == attacker)
        raise InputError(f"there is no persona {persona!r}; the result has {known}.")
    return by_risk[attacker, persona], tuple(name for name in attackers if name not in (attacker, STRONGEST))
