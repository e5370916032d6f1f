"""The choice among settings, and how sure it is."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import SETTING
from quipukit.measures.bootstrap import LEVEL, REPLICATES, Floats, Grid, Seed, draw, grids, interval, judge
from quipukit.recommend.kept import kept_shares, original_utility, utility_of
from quipukit.recommend.model import SLACK, Choice, Recommendation

if TYPE_CHECKING:
    from quipukit.results import Result

REFERENCE = "reference"  # the strategy of Identity and Random


def recommend(
    result: "Result",
    *,
    max_risk: float = 0.1,
    attacker: str = "active",
    min_utility: float | None = None,
    measure: str | None = None,
    system: str | None = None,
    include_references: bool = False,
    level: float = LEVEL,
    replicates: int = REPLICATES,
    seed: Seed = 0,
) -> Recommendation:
    """Return the setting of highest mean utility among those with a mean risk of at most ``max_risk``.

    ``attacker`` is lazy (one guess), active (ten) or motivated (reads on), or another label of the result's points;
    ``min_utility`` asks for that much utility too; ``measure`` and ``system`` default to the first. The references
    (Identity, Random) compete only with ``include_references``. Of equal utilities the lower risk wins. Read about the
    winner's curse at the top of this module before quoting the utility of a best setting.
    """
    for name, limit in (("max_risk", max_risk), ("min_utility", min_utility)):
        if limit is not None and not 0 <= limit <= 1:
            raise InputError(f"{name} must lie between 0 and 1 (found {limit!r}).")
    grid = _grid(result, attacker, result.measure_named(measure), system)
    strategies = result.strategies
    candidates = [
        number
        for number, (mechanism, *_) in enumerate(grid.settings)
        if include_references or strategies[mechanism] != REFERENCE
    ]
    if not candidates:
        raise InputError("the result holds references alone; run a mechanism, or let them in (include_references).")
    weights = draw(len(grid.qids), replicates, seed)
    risk, utility = grid.risk[:, candidates], grid.utility[:, candidates]
    risks, utilities = weights @ risk, weights @ utility
    r, u = risk.mean(axis=0), utility.mean(axis=0)
    floor = 0.0 if min_utility is None else min_utility
    chosen = select(risks, utilities, max_risk, floor)
    original = original_utility(grid)

    table = pd.DataFrame([grid.settings[number] for number in candidates], columns=list(SETTING))
    told = [*SETTING, "strategy", "guarantee", "private", "n", "variants", "budget", "nothing"]
    table = table.merge(result.settings[told], on=list(SETTING), validate="1:1").astype({"private": bool})
    columns = {"risk": (r, risks), "utility": (u, utilities), "kept": kept_shares(original, weights, u, utilities)}
    for name, (means, drawn) in columns.items():
        table[name] = means
        table[f"{name}_low"], table[f"{name}_high"] = np.transpose([_bounds(each, level) for each in drawn.T])
    table["risk_high"] = np.maximum(table["risk_high"], highest_risk(r, len(grid.qids), level))
    table["chosen"] = [float((chosen == number).mean()) for number in range(len(candidates))]
    choices = [_choice(row) for row in table.to_dict("records")]
    table["fits"] = (r <= max_risk + SLACK) & (u >= floor - SLACK)
    table["front"] = pareto(r, u)

    def choice(number: int) -> Choice | None:
        return choices[number] if number >= 0 else None

    def pick(rs: Floats, least: float = floor) -> int:
        return int(select(rs[None], u[None], max_risk, least)[0])

    best, second, lead = pick(r), -1, None
    if best >= 0:
        second = pick(np.where(table["mechanism"] == choices[best].mechanism, np.inf, r))
    gain = None
    if second >= 0:
        lead = _ahead(utility[:, best] - utility[:, second], weights, level)
    if best >= 0 and (words := utility_of("Random", grid)) is not None:
        gain = _ahead(utility[:, best] - words, weights, level)
    # Of equal risks the higher utility wins.
    by_risk = [int(number) for number in np.lexsort((-u, r))]
    reaching = [number for number in by_risk if u[number] >= floor - SLACK]
    return Recommendation(
        attacker=attacker,
        measure=grid.measure,
        system=system or result.systems[0],
        max_risk=max_risk,
        min_utility=min_utility,
        level=level,
        replicates=replicates,
        queries=len(grid.qids),
        original=None if original is None else float(original.mean()),
        best=choice(best),
        runner_up=choice(second),
        lead=lead,
        gain=gain,
        safe=choice(pick(table["risk_high"].to_numpy())),
        least_risky=choices[by_risk[0]],
        within_risk=choice(pick(r, 0.0)),
        within_utility=choice(reaching[0] if reaching else -1),
        nothing_share=float((chosen < 0).mean()),
        **_expected(best, chosen, r, u, risks, utilities, level),
        settings=table,
    )


# --- the choice ---------------------------------------------------------------------------------------------------


def select(risk: Floats, utility: Floats, max_risk: float, min_utility: float = 0.0) -> NDArray[np.int64]:
    """Return for every row the column of highest utility within the limits, -1 where there is none.

    Of equal utilities the lower risk wins, of equal risks the first.
    """
    fits = (risk <= max_risk + SLACK) & (utility >= min_utility - SLACK)
    found = np.where(fits, utility, -np.inf)
    level = found >= found.max(axis=1, keepdims=True) - SLACK
    return np.where(fits.any(axis=1), np.where(level & fits, risk, np.inf).argmin(axis=1), -1)


def pareto(risk: Floats, utility: Floats) -> NDArray[np.bool_]:
    """Return which points no other one beats: none with as little risk and as much utility, and better in one."""
    no_worse = (risk[:, None] <= risk) & (utility[:, None] >= utility)
    better = (risk[:, None] < risk) | (utility[:, None] > utility)
    return np.asarray(~(no_worse & better).any(axis=0))


def highest_risk(risk: Floats, queries: int, level: float = LEVEL) -> Floats:
    """Return the upper end of the Clopper-Pearson interval for mean risks over that many queries.

    No score between 0 and 1 spreads more than hits do, so the bound for hits serves for expected ones too.

    >>> highest_risk(np.array([0.0]), 43).round(4)
    array([0.0822])
    """
    from scipy.special import betaincinv

    hits = np.clip(risk, 0.0, 1.0) * queries
    misses = queries - hits
    bound = betaincinv(hits + 1, np.maximum(misses, SLACK), (1 + level) / 2)
    return np.where(misses > SLACK, bound, 1.0)


def _expected(
    best: int, chosen: NDArray[np.int64], r: Floats, u: Floats, risks: Floats, utilities: Floats, level: float
) -> dict[str, float | None]:
    names = ("expected_utility", "expected_low", "expected_high", "expected_risk")
    rows = np.flatnonzero(chosen >= 0)
    if best < 0 or not len(rows):
        return dict.fromkeys(names)
    there = chosen[rows]
    flattery = utilities[rows, there] - u[there]
    low, high = interval(flattery, level)
    # Turned round: where replicates overshoot their truth, the truth lies below what was found.
    honest = u[best] - np.array([flattery.mean(), high, low])
    risk = r[best] - (risks[rows, there] - r[there]).mean()
    return dict(zip(names, map(float, np.clip([*honest, risk], 0.0, 1.0)), strict=True))


def _choice(row: dict[Any, Any]) -> Choice:
    cells: dict[str, Any] = {name: None if cell != cell else cell for name, cell in row.items()}
    return Choice(**cells)


def _grid(result: "Result", attacker: str, measure: str, system: str | None) -> Grid:
    utilities = result.utilities(system)
    by_attacker = {
        grid.attacker: grid for grid in grids(result.risks(), utilities[utilities["measure"] == measure]).values()
    }
    if attacker not in by_attacker:
        raise InputError(f"there is no attacker {attacker!r}; the result has {', '.join(by_attacker)}.")
    return by_attacker[attacker]


def _ahead(differences: Floats, weights: Floats, level: float) -> tuple[float, float, float, float]:
    return (
        float(differences.mean()),
        *judge(weights @ differences, level, floor=2.0 ** (1 - len(differences))),
    )


def _bounds(drawn: Floats, level: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    return interval(known, level) if len(known) else (math.nan, math.nan)
