"""Risk and utility of the same queries, side by side: the points of a curve, and how far chance can move its score.

Queries are a sample of what people ask. The bootstrap draws as many of them with replacement, the same ones for all
mechanisms, settings, attackers and both sides, and scores the curves again; the spread of 2,000 such scores is the
interval. Because the draws are shared, the difference of two mechanisms keeps what it has in common out of its spread.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import POINTS, SCORES, SETTING, from_most_hidden
from quipukit.measures.quipu import ORIGINAL, Order, area, hypervolume, ordered
from quipukit.measures.risk import attacker_label
from quipukit.registry import HidesMore, directions
from quipukit.specs import format_value

REPLICATES = 2000
LEVEL = 0.95

Floats = NDArray[np.float64]
Score = Literal["quipu", "hypervolume"]
Seed = int | np.random.Generator

# Equal columns may come out of a matrix product with unequal last digits.
_DUST = 1e-12


def points(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    collection: str = "",
    strategies: Mapping[str, str] | None = None,
    hides_more: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return Points: mean risk and mean utility of every setting, for every attacker and measure of utility.

    Means are over the queries that both sides know; a query that a setting has no score for counts 0. ``attacker`` is
    lazy, active or motivated, after the attacker's name where that is not QuIA. ``strategies`` maps mechanisms to
    theirs, ``hides_more`` to which of their values hide more (what the class says, where it is not given).
    """
    sides = _pair(risks, utilities, hides_more)
    rows = []
    for curve in sides.curves():
        r, u = (scores.mean(axis=0) for scores in sides.scores_of(curve))
        names = (collection, curve.mechanism, (strategies or {}).get(curve.mechanism, ""), curve.parameter)
        rows += [
            (*names, value, sides.hides_more[curve.mechanism], curve.attacker, curve.measure, *means)
            for value, *means in zip(curve.values, r, u, strict=True)
        ]
    return POINTS.check(pd.DataFrame(rows, columns=list(POINTS.columns)))


def bootstrap_scores(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    *,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: Seed = 0,
    order: Order = "parameter",
    hides_more: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return QuIPU and hypervolume of every mechanism, attacker and measure of utility, with percentile intervals.

    ``risks`` and ``utilities`` are Scores, per query. Columns: mechanism, attacker, measure, quipu, low, high, error
    (the standard deviation over the replicates), hypervolume, hypervolume_low, hypervolume_high, queries. The
    hypervolume is over the utility of Identity, drawn with the same queries, and over 1 where Identity is absent.
    """
    sides = _pair(risks, utilities, hides_more)
    weights = _weights(sides, replicates, seed)
    volumes = _replicated(sides, weights, hypervolume)
    rows = []
    for curve, (score, drawn) in _replicated(sides, weights, _quipu(order)).items():
        volume, volumes_drawn = volumes[curve]
        bounds = (score, *interval(drawn, level), float(drawn.std()), volume, *interval(volumes_drawn, level))
        rows.append((*curve.name, *bounds, len(sides.qids)))
    volume_columns = ["hypervolume", "hypervolume_low", "hypervolume_high"]
    return pd.DataFrame(rows, columns=[*_NAME, "quipu", "low", "high", "error", *volume_columns, "queries"])


def compare(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    *,
    mechanisms: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: Seed = 0,
    order: Order = "parameter",
    hides_more: Mapping[str, str] | None = None,
    score: Score = "quipu",
) -> pd.DataFrame:
    """Return the paired differences of QuIPU scores between mechanisms, and whether chance explains them.

    With ``score="hypervolume"`` the differences are those of hypervolumes.

    One row per pair, attacker and measure: first, second, attacker, measure, difference (first - second), low, high,
    p, p_holm, queries. With B replicates d of the difference,

        p = min(1, 2 min(1 + #{d <= 0}, 1 + #{d >= 0}) / (B + 1)),

    which is never below 2 / (B + 1), nor below 2^(1 - n) for n queries (see `judge`). ``p_holm`` is p after Holm's
    correction for all pairs of the same attacker and measure.
    """
    sides = _pair(risks, utilities, hides_more)
    statistic = _quipu(order) if score == "quipu" else hypervolume
    scores = _replicated(sides, _weights(sides, replicates, seed), statistic)
    known = list(dict.fromkeys(curve.mechanism for curve in scores))
    for name in mechanisms or ():
        if name not in known:
            raise InputError(f"there is no mechanism {name!r} in the scores; they hold {', '.join(known)}.")
    wanted = known if mechanisms is None else list(dict.fromkeys(mechanisms))
    if len(wanted) < 2:
        raise InputError("a comparison needs two mechanisms or more; give the scores of another one.")
    by_name = {curve.name: found for curve, found in scores.items()}
    rows = []
    for attacker, measure in dict.fromkeys((curve.attacker, curve.measure) for curve in scores):
        family = []
        for first, second in itertools.combinations(wanted, 2):
            (own, drawn), (other, others) = by_name[first, attacker, measure], by_name[second, attacker, measure]
            floor = 2.0 ** (1 - len(sides.qids))
            family.append((first, second, attacker, measure, own - other, *judge(drawn - others, level, floor)))
        corrected = holm([row[-1] for row in family])
        rows += [(*row, p, len(sides.qids)) for row, p in zip(family, corrected, strict=True)]
    columns = ["first", "second", "attacker", "measure", "difference", "low", "high", "p", "p_holm", "queries"]
    return pd.DataFrame(rows, columns=columns)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down rule: the i-th smallest of m times m - i + 1.

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given, kind="stable")
    steps = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(steps, 1.0)
    return [float(p) for p in corrected]


# --- pieces for other questions of the same kind -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """Risk and utility per query (rows) and setting (columns), for one attacker and one measure of utility.

    Mechanisms are in the order they come in, their settings from most to least hidden.
    """

    attacker: str
    measure: str
    qids: tuple[str, ...]
    settings: tuple[tuple[str, str, float], ...]
    risk: Floats
    utility: Floats


def grids(
    risks: pd.DataFrame, utilities: pd.DataFrame, hides_more: Mapping[str, str] | None = None
) -> dict[tuple[str, str], Grid]:
    """Return the grid of every attacker and measure of utility; queries and absence count as in `points`."""
    sides = _pair(risks, utilities, hides_more)
    grouped: dict[tuple[str, str], list[_Curve]] = {}
    for curve in sides.curves():
        grouped.setdefault((curve.attacker, curve.measure), []).append(curve)
    return {
        key: Grid(
            *key,
            tuple(sides.qids),
            tuple((curve.mechanism, curve.parameter, value) for curve in curves for value in curve.values),
            sides.risk[:, [column for curve in curves for column in curve.risk_columns]],
            sides.utility[:, [column for curve in curves for column in curve.utility_columns]],
        )
        for key, curves in grouped.items()
    }


def draw(queries: int, replicates: int = REPLICATES, seed: Seed = 0) -> Floats:
    """Return one row a replicate: how often each query was drawn, divided by the number of draws."""
    if replicates < 1:
        raise InputError(f"replicates must be a whole number of at least 1 (found {replicates!r}).")
    return np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=replicates) / queries


def interval(drawn: Floats, level: float = LEVEL) -> tuple[float, float]:
    """Return the percentile interval of a score from its replicates."""
    low, high = np.quantile(drawn, _tails(level))
    return float(low), float(high)


def judge(differences: Floats, level: float = LEVEL, floor: float = 0.0) -> tuple[float, float, float]:
    """Return the interval of a difference and its p-value (see `compare`) from its replicates.

    ``floor`` is the least p-value that so few queries can give: 2^(1 - n) for n pairs, which a test that swaps the two
    sides of each pair cannot go below either. The replicates of one query all agree, and prove nothing.
    """
    return (*interval(differences, level), max(floor, _p_value(differences)))


# --- the two sides ------------------------------------------------------------------------------------------------

_NAME = ("mechanism", "attacker", "measure")


@dataclass(frozen=True)
class _Curve:
    """One curve: which mechanism, risk and utility, and its settings from most to least hidden."""

    mechanism: str
    parameter: str
    values: tuple[float, ...]
    attacker: str
    measure: str
    risk_columns: tuple[int, ...]
    utility_columns: tuple[int, ...]

    @property
    def name(self) -> tuple[str, str, str]:
        return (self.mechanism, self.attacker, self.measure)


@dataclass(frozen=True)
class _Sides:
    """Scores as two matrices, one row a query: one column per setting and attacker, one per setting and measure."""

    qids: list[str]
    risk: Floats
    utility: Floats
    risk_columns: list[tuple[Any, ...]]
    utility_columns: list[tuple[Any, ...]]
    hides_more: Mapping[str, HidesMore]

    def curves(self) -> list[_Curve]:
        risk_at = {column: number for number, column in enumerate(self.risk_columns)}
        utility_at = {column: number for number, column in enumerate(self.utility_columns)}
        attackers = list(dict.fromkeys(column[3:] for column in self.risk_columns))
        measures = list(dict.fromkeys(column[3:] for column in self.utility_columns))
        settings: dict[str, dict[float, str]] = {}
        for mechanism, parameter, value, *_ in self.risk_columns:
            settings.setdefault(mechanism, {})[value] = parameter
        found = []
        for mechanism, named in settings.items():
            order = np.argsort(from_most_hidden(list(named), self.hides_more[mechanism]))
            values = tuple(list(named)[place] for place in order)
            grid = [(mechanism, named[value], value) for value in values]
            for (attacker, risk), (_, measure) in itertools.product(attackers, measures):
                found.append(
                    _Curve(
                        mechanism,
                        named[values[0]],
                        values,
                        attacker_label(attacker, risk),
                        measure,
                        tuple(_column(risk_at, (*setting, attacker, risk)) for setting in grid),
                        tuple(_column(utility_at, (*setting, "", measure)) for setting in grid),
                    )
                )
        return found

    def scores_of(self, curve: _Curve) -> tuple[Floats, Floats]:
        return self.risk[:, curve.risk_columns], self.utility[:, curve.utility_columns]


def _column(columns: Mapping[tuple[Any, ...], int], wanted: tuple[Any, ...]) -> int:
    if wanted not in columns:
        mechanism, _, value, attacker, measure = wanted
        setting = f"{mechanism}@{format_value(value)}"
        who = f"{measure} of {attacker}" if attacker else measure
        raise InputError(
            f"{setting} has no score {who}, which other settings have; measure it, or leave {setting} out."
        )
    return columns[wanted]


def _pair(risks: pd.DataFrame, utilities: pd.DataFrame, hides_more: Mapping[str, str] | None = None) -> _Sides:
    sides = {}
    for name, frame in (("risk", risks), ("utility", utilities)):
        checked = SCORES.check(frame)
        wrong = checked[checked["side"] != name]
        if len(wrong):
            raise InputError(f"the scores of {name} hold rows of side {wrong['side'].iloc[0]!r}; swap or filter them.")
        if checked.empty:
            raise InputError(f"there is no score of {name}; measure it first.")
        sides[name] = checked
    common = set(sides["risk"]["qid"]) & set(sides["utility"]["qid"])
    if not common:
        raise InputError("no query has both a risk and a utility; are the scores of the same queries?")
    # Sorted, so that the draws belong to the queries and not to the order of the rows.
    qids = sorted(common)
    matrices, columns = {}, {}
    for name, frame in sides.items():
        matrices[name], columns[name] = _matrix(frame[frame["qid"].isin(common)], qids)
    _refuse_one_sided(columns["risk"], columns["utility"])
    directed = directions((mechanism for mechanism, *_ in columns["risk"]), hides_more)
    return _Sides(qids, matrices["risk"], matrices["utility"], columns["risk"], columns["utility"], directed)


def _refuse_one_sided(risk_columns: list[tuple[Any, ...]], utility_columns: list[tuple[Any, ...]]) -> None:
    risk, utility = ({column[:3] for column in columns} for columns in (risk_columns, utility_columns))
    for has, lacks, settings in (("risk", "utility", risk - utility), ("utility", "risk", utility - risk)):
        for mechanism, _, value in sorted(settings):
            setting = f"{mechanism}@{format_value(value)}"
            raise InputError(f"{setting} has a {has} but no {lacks}; measure it, or leave {setting} out.")
    parameters: dict[str, str] = {}
    for mechanism, parameter, _ in sorted(risk):
        if parameters.setdefault(mechanism, parameter) != parameter:
            both = f"{parameters[mechanism]!r} and {parameter!r}"
            raise InputError(f"{mechanism} has settings of {both}; a curve has one parameter, so score them apart.")


def _matrix(frame: pd.DataFrame, qids: Sequence[str]) -> tuple[Floats, list[tuple[Any, ...]]]:
    keys = [*SETTING, "attacker", "measure"]
    number = frame.groupby(keys, sort=False).ngroup().to_numpy()
    columns = list(frame[keys].drop_duplicates().itertuples(index=False, name=None))
    matrix = np.zeros((len(qids), len(columns)))
    matrix[pd.Index(qids).get_indexer(frame["qid"]), number] = frame["score"].to_numpy()
    return matrix, columns


# --- the draws ----------------------------------------------------------------------------------------------------


def _weights(sides: _Sides, replicates: int, seed: Seed) -> Floats:
    return draw(len(sides.qids), replicates, seed)


# The score of curves, points along the last axis: (risk, utility, the original's utility).
_Statistic = Callable[[Floats, Floats, Floats], Floats]


def _quipu(order: Order) -> _Statistic:
    return lambda r, u, original: area(*ordered(r, u, order))


def _replicated(sides: _Sides, weights: Floats, statistic: _Statistic) -> dict[_Curve, tuple[float, Floats]]:
    """Return the score of every curve, on all queries and on every replicate."""
    risk, utility = weights @ sides.risk, weights @ sides.utility
    all_risk, all_utility = sides.risk.mean(axis=0), sides.utility.mean(axis=0)
    curves = sides.curves()
    originals = {curve.measure: curve.utility_columns[0] for curve in curves if curve.mechanism == ORIGINAL}

    def score(r: Floats, u: Floats, curve: _Curve) -> Floats:
        original = u[..., originals[curve.measure]] if curve.measure in originals else np.ones(u.shape[:-1])
        return statistic(r[..., curve.risk_columns], u[..., curve.utility_columns], original)

    return {curve: (float(score(all_risk, all_utility, curve)), score(risk, utility, curve)) for curve in curves}


def _p_value(differences: Floats) -> float:
    below, above = (1 + int(np.count_nonzero(side)) for side in (differences <= _DUST, differences >= -_DUST))
    return min(1.0, 2 * min(below, above) / (len(differences) + 1))


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, for instance 0.95 (found {level!r}).")
    return (1 - level) / 2, (1 + level) / 2
