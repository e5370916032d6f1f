"""Which setting to use: the best utility within a budget of risk, how sure that is, and what stands beside it.

The best setting has the highest mean utility among those whose mean risk is at most ``max_risk``. Intervals are over
queries: they are drawn with replacement, the same ones for all settings, risk and utility. Two things that a plain
bootstrap would get wrong are mended:

- **Hits not yet seen.** Where no query was found out, no replicate has a hit either, and the interval would be [0, 0].
  The upper bound of a risk is therefore never below the exact one for as many hits among as many queries (Clopper and
  Pearson 1934, with the sum of the risks for the hits): 0 of 43 can still be 0.08.
- **The winner's curse.** The best of many settings was also lucky on these queries, so its utility is flattered, and
  its risk too. The choice is repeated on every replicate: ``chosen_share`` of them choose the same setting. If
  replicate b chooses j(b), which has utility u*_b there and u on all queries, the choice flatters by the mean of
  u*_b(j(b)) - u(j(b)); ``expected_utility`` and its interval have that taken off. On few queries this takes off too
  little: what is certain comes from queries that had no say in the choice.
"""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import SETTING
from quipukit.measures.bootstrap import LEVEL, REPLICATES, Floats, Grid, Seed, draw, grids, interval, judge
from quipukit.specs import format_value

if TYPE_CHECKING:
    from quipukit.results import Result

REFERENCE = "reference"  # the strategy of Identity and Random

# Means of many numbers may pass a limit by their last digits.
_SLACK = 1e-9

# A setting that keeps less than this of the original's utility is not called of use without proof.
_USELESS = 0.1


@dataclass(frozen=True)
class Choice:
    """A setting: what it sends and promises, its risk and utility, and the share of the original's utility it keeps.

    ``kept`` is None where the original's utility was not measured (no Identity in the result) or is 0; ``budget`` is
    N * epsilon, None without epsilon. ``chosen`` is the share of replicates that choose this setting.
    """

    mechanism: str
    parameter: str
    value: float
    strategy: str
    guarantee: str
    private: bool
    n: int
    variants: float
    budget: float | None
    nothing: int
    risk: float
    risk_low: float
    risk_high: float
    utility: float
    utility_low: float
    utility_high: float
    kept: float | None
    kept_low: float | None
    kept_high: float | None
    chosen: float

    @property
    def name(self) -> str:
        """Return the setting as a spec: CMP@12.5."""
        return f"{self.mechanism}@{format_value(self.value)}" if self.parameter else self.mechanism

    @property
    def words(self) -> str:
        """Return the setting in words: CMP at epsilon 12.5 with 50 variants per query."""
        at = f" at {self.parameter} {format_value(self.value)}" if self.parameter else ""
        fewer = self.variants < self.n - 0.05
        count = f"{self.variants:.1f} of {self.n}" if fewer else f"{self.n}"
        return f"{self.mechanism}{at} with {count} variant{'s' * (self.n != 1)} per query"


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to use within a budget of risk; ``best`` is None where no setting fits.

    ``runner_up`` is the best fitting setting of another mechanism and ``lead`` the difference of utility to it, as
    (difference, low, high, p); p holds for two settings named beforehand, so it too is flattered by the choice.
    ``gain`` is the same over random words (Random), where these were measured: a safe setting that finds no more than
    they do is of no use.
    ``safe`` is the best setting whose upper bound of risk keeps the budget, ``least_risky`` the one of least risk,
    ``within_risk`` the best within the budget whatever its utility, ``within_utility`` the least risky one that reaches
    ``min_utility``. ``settings`` holds all candidates, with ``fits`` and ``front``: on the Pareto front of least risk
    and most utility.
    """

    attacker: str
    measure: str
    system: str
    max_risk: float
    min_utility: float | None
    level: float
    replicates: int
    queries: int
    original: float | None  # utility of the original queries, where it was measured
    best: Choice | None
    runner_up: Choice | None
    lead: tuple[float, float, float, float] | None
    gain: tuple[float, float, float, float] | None
    safe: Choice | None
    least_risky: Choice
    within_risk: Choice | None
    within_utility: Choice | None
    nothing_share: float  # of replicates, in which no setting fits
    expected_utility: float | None  # without what the choice flatters; None where nothing fits
    expected_low: float | None
    expected_high: float | None
    expected_risk: float | None
    settings: pd.DataFrame

    @property
    def chosen_share(self) -> float:
        """Return the share of replicates that choose the best setting again; 0 where nothing fits."""
        return self.best.chosen if self.best else 0.0

    @property
    def keeps_budget(self) -> bool:
        """Tell whether the upper bound of the best setting's risk keeps the budget too."""
        return self.best is not None and self.best.risk_high <= self.max_risk + _SLACK

    @property
    def front(self) -> pd.DataFrame:
        """Return the settings that no other one beats in both risk and utility, in order of risk."""
        return self.settings[self.settings["front"]].sort_values("risk", kind="stable").reset_index(drop=True)

    @property
    def sentence(self) -> str:
        """Return the recommendation, or why there is none, in a sentence or two."""
        if self.best is None:
            return _no_setting(self)
        text = f"Use {self.best.words}: {self._found(self.best)}, and {_seen(self.attacker, self.best, self.queries)}."
        useless = self.best.kept is not None and self.best.kept < _USELESS and _use(self)
        return f"{text} But random words find as much." if useless else text

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to know beside the sentence, a sentence or two each."""
        return tuple(note for note in (tell(self) for tell in _NOTES) if note)

    def _found(self, choice: Choice) -> str:
        if choice.kept is None:
            return f"users reach {self.measure} {choice.utility:.2f}"
        if choice.kept >= 1:
            return f"users keep all of the search quality ({self.measure})"
        return f"users keep {100 * choice.kept:.0f} % of the search quality ({self.measure})"


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
    original = _utility_of("Identity", grid)
    if original is not None and not original.any():
        original = None  # nothing is a share of nothing

    table = pd.DataFrame([grid.settings[number] for number in candidates], columns=list(SETTING))
    told = [*SETTING, "strategy", "guarantee", "private", "n", "variants", "budget", "nothing"]
    table = table.merge(result.settings[told], on=list(SETTING), validate="1:1").astype({"private": bool})
    columns = {"risk": (r, risks), "utility": (u, utilities), "kept": _kept(original, weights, u, utilities)}
    for name, (means, drawn) in columns.items():
        table[name] = means
        table[f"{name}_low"], table[f"{name}_high"] = np.transpose([_bounds(each, level) for each in drawn.T])
    table["risk_high"] = np.maximum(table["risk_high"], highest_risk(r, len(grid.qids), level))
    table["chosen"] = [float((chosen == number).mean()) for number in range(len(candidates))]
    choices = [_choice(row) for row in table.to_dict("records")]
    table["fits"] = (r <= max_risk + _SLACK) & (u >= floor - _SLACK)
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
    if best >= 0 and (words := _utility_of("Random", grid)) is not None:
        gain = _ahead(utility[:, best] - words, weights, level)
    # Of equal risks the higher utility wins.
    by_risk = [int(number) for number in np.lexsort((-u, r))]
    reaching = [number for number in by_risk if u[number] >= floor - _SLACK]
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
    fits = (risk <= max_risk + _SLACK) & (utility >= min_utility - _SLACK)
    found = np.where(fits, utility, -np.inf)
    level = found >= found.max(axis=1, keepdims=True) - _SLACK
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
    bound = betaincinv(hits + 1, np.maximum(misses, _SLACK), (1 + level) / 2)
    return np.where(misses > _SLACK, bound, 1.0)


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


def _utility_of(reference: str, grid: Grid) -> Floats | None:
    for number, (mechanism, *_) in enumerate(grid.settings):
        if mechanism == reference:
            return grid.utility[:, number]
    return None


def _ahead(differences: Floats, weights: Floats, level: float) -> tuple[float, float, float, float]:
    return (
        float(differences.mean()),
        *judge(weights @ differences, level, floor=2.0 ** (1 - len(differences))),
    )


def _kept(original: Floats | None, weights: Floats, u: Floats, utilities: Floats) -> tuple[Floats, Floats]:
    if original is None:
        return np.full_like(u, math.nan), np.full_like(utilities, math.nan)
    drawn = (weights @ original)[:, None]
    # A replicate without any found document says nothing about shares.
    return u / original.mean(), np.divide(utilities, drawn, out=np.full_like(utilities, math.nan), where=drawn > 0)


def _bounds(drawn: Floats, level: float) -> tuple[float, float]:
    known = drawn[~np.isnan(drawn)]
    return interval(known, level) if len(known) else (math.nan, math.nan)


# --- in words -----------------------------------------------------------------------------------------------------


def _seen(attacker: str, choice: Choice, queries: int) -> str:
    *names, kind = attacker.split(" ")
    who = f"{' '.join(names)} attacker" if names else "attacker"
    who = f"{'an' if who[0].lower() in 'aeiou' else 'a'} {who}"
    if kind == "motivated":
        return f"for {who} who reads on until the query comes, its mean reciprocal rank is {choice.risk:.2f}"
    depth = re.fullmatch(r"active@(\d+)", kind)
    looks = {"lazy": "one guess", "active": "ten guesses"}.get(kind, f"{depth[1]} guesses" if depth else kind)
    return f"{who} who looks at {looks} finds {_cases(choice.risk, queries)}"


def _cases(risk: float, queries: int) -> str:
    if risk <= _SLACK:
        return f"none of the {_count(queries)}"
    return f"the query in {'fewer than 1' if risk < 0.005 else f'about {100 * risk:.0f}'} of 100 cases"


def _no_setting(found: Recommendation) -> str:
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


def _most(found: Recommendation) -> str:
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


def _share(choice: Choice) -> str:
    return "" if choice.kept is None else f", {100 * choice.kept:.0f} % of the original's"


def _sure(found: Recommendation) -> str:
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


def _second(found: Recommendation) -> str:
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


def _use(found: Recommendation) -> str:
    if found.best is None or found.gain is None or found.best.mechanism == "Random":
        return ""
    difference, low, high, p = found.gain
    if p < 1 - found.level and difference > 0:
        return ""
    return (
        f"It finds no more than random words do, as far as {_count(found.queries)} can tell: {found.measure} differs "
        f"by {difference:.3f} [{low:.3f}, {high:.3f}], p = {p:.2g}. A higher risk is the price of finding anything."
    )


def _luck(found: Recommendation) -> str:
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


def _promise(found: Recommendation) -> str:
    if found.best is None:
        return ""
    best = found.best
    composed = "" if best.budget is None else f"; N = {best.n}, composed budget {format_value(best.budget)}"
    return f"Guarantee: {best.guarantee or 'not stated'}{composed}."


def _unsent(found: Recommendation) -> str:
    if found.best is None or not found.best.nothing:
        return ""
    return f"For {found.best.nothing} of the queries nothing was sent; they count as risk 0."


_NOTES = (_sure, _use, _second, _luck, _promise, _unsent)
