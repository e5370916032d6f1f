"""Risk and utility of the same queries, side by side: the points of a curve, and how far chance can move its score.

Queries are a sample of what people ask. A risk is a mean over all queries that were sent, a utility a mean over those
with judgments. The score of a curve is no mean, but nearly one: leaving out query q moves it from t to t(-q), and

    v(q) = t + (n - 1) (mean of all t(-r) - t(-q))

are numbers per query whose mean is the score, and whose spread is that of the score (jackknife, Tukey 1958; for a mean
they are the scores of the queries themselves). Intervals and tests are those of `quipukit.measures.resampling` on these
numbers. Differences of two mechanisms are formed query by query, so that what both have in common stays out of them.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import InputError
from quipukit.frames import POINTS, SCORES, SETTING, from_most_hidden
from quipukit.measures.intervals import LEVEL, Floats
from quipukit.measures.quipu import ORIGINAL, Order, area, hypervolume, ordered
from quipukit.measures.resampling import DUST, REPLICATES, Seed, judge_paired, studentized_intervals
from quipukit.measures.risk import persona_of
from quipukit.registry import HidesMore, directions
from quipukit.specs import format_value

_FOUND = 2  # queries that an attacker found, without which no interval of a score is given

Score = Literal["quipu", "hypervolume"]
Statistic = Callable[[Floats, Floats, Floats], Floats]


def points(
    risks: pd.DataFrame,
    utilities: pd.DataFrame,
    collection: str = "",
    strategies: Mapping[str, str] | None = None,
    hides_more: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return Points: mean risk and mean utility of every setting, for every attacker, persona and measure of utility.

    A risk is the mean over the queries that have one, which is every query sent, and a utility over those that have
    one, which is every query judged; a query that a setting has no score for counts 0. ``persona`` is lazy, active or
    motivated: which of the attacker's risks it is. ``strategies`` maps mechanisms to theirs, ``hides_more`` to which of
    their values hide more (what the class says, where it is not given).
    """
    sides = _pair(risks, utilities, hides_more)
    rows = []
    risk, utility = sides.risk.means, sides.utility.means
    for curve in sides.curves():
        r, u = risk[list(curve.risk_columns)], utility[list(curve.utility_columns)]
        names = (collection, curve.mechanism, (strategies or {}).get(curve.mechanism, ""), curve.parameter)
        rows += [
            (*names, value, sides.hides_more[curve.mechanism], curve.attacker, curve.persona, curve.measure, *means)
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
    """Return QuIPU and hypervolume of every mechanism, attacker, persona and measure of utility, with intervals.

    ``risks`` and ``utilities`` are Scores, per query. Columns: mechanism, attacker, persona, measure, quipu, low, high,
    error (the standard error), hypervolume, hypervolume_low, hypervolume_high, queries. The hypervolume is over the
    utility of Identity, as far as these queries know it, and over 1 where Identity is absent.

    The ends of an interval are NaN where the queries cannot tell them: where all say the same, and where the attacker
    found fewer than two queries at any setting, for draws of queries know nothing of hits that none of them had.
    """
    sides = _pair(risks, utilities, hides_more)
    curves = sides.curves()
    values, volumes = (_per_query(sides, curves, score) for score in (_quipu(order), hypervolume))
    # One call, so that both scores are of the same draws.
    both = np.column_stack([values, volumes])
    most = np.concatenate([_reaches(sides, curves, order), np.ones(len(curves))])
    least = np.concatenate([-most[: len(curves)], np.zeros(len(curves))])
    drawn = studentized_intervals(both, level, limits=(least, most), replicates=replicates, seed=seed)
    found = [(sides.risk.columns(curve.risk_columns).scores > 0).any(axis=1).sum() >= _FOUND for curve in curves]
    ends = [np.where(found * 2, end, np.nan) for end in drawn]
    bounds, volume_ends = ([end[part] for end in ends] for part in np.split(np.arange(len(both.T)), 2))
    error = values.std(axis=0) / np.sqrt(len(values))
    numbers = zip(values.mean(axis=0), *bounds, error, volumes.mean(axis=0), *volume_ends, strict=True)
    rows = [(*curve.name, *own, len(sides.qids)) for curve, own in zip(curves, numbers, strict=True)]
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

    One row per pair, attacker, persona and measure: first, second, attacker, persona, measure, difference (first -
    second), low, high, p, p_holm, queries. Interval and p are those of `judge_paired`; p is never below 2 / (B + 1) for
    B replicates, nor below 2^(1 - n) for n queries. ``p_holm`` is p after Holm's correction for all pairs of the same
    attacker, persona and measure. With fewer than 20 queries, mind what docs/reliability.md says.
    """
    sides = _pair(risks, utilities, hides_more)
    curves = sides.curves()
    values = _per_query(sides, curves, _quipu(order) if score == "quipu" else hypervolume)
    reaches = _reaches(sides, curves, order) if score == "quipu" else np.full(len(curves), 0.5)
    known = list(dict.fromkeys(curve.mechanism for curve in curves))
    for name in mechanisms or ():
        if name not in known:
            raise InputError(f"there is no mechanism {name!r} in the scores; they hold {', '.join(known)}.")
    wanted = known if mechanisms is None else list(dict.fromkeys(mechanisms))
    if len(wanted) < 2:
        raise InputError("a comparison needs two mechanisms or more; give the scores of another one.")
    column = {curve.name: number for number, curve in enumerate(curves)}
    rows = []
    for risk in dict.fromkeys(curve.name[1:] for curve in curves):
        pairs = list(itertools.combinations(wanted, 2))
        own, other = ([column[pair[side], *risk] for pair in pairs] for side in (0, 1))
        differences, most = values[:, own] - values[:, other], reaches[own] + reaches[other]
        judged = judge_paired(differences, level, limits=(-most, most), replicates=replicates, seed=seed)
        numbers = zip(differences.mean(axis=0), *judged, holm(judged.p), strict=True)
        rows += [
            (*pair, *risk, *own_numbers, len(sides.qids)) for pair, own_numbers in zip(pairs, numbers, strict=True)
        ]
    columns = ["first", "second", *_NAME[1:], "difference", "low", "high", "p", "p_holm", "queries"]
    return pd.DataFrame(rows, columns=columns)


def holm(p_values: ArrayLike) -> list[float]:
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
class Side:
    """Scores of one side, a row per query and a column per setting; ``known`` are the queries that have scores.

    The rows of other queries hold zeros, and no mean is over them.
    """

    scores: Floats
    known: NDArray[np.bool_]

    @property
    def means(self) -> Floats:
        """Return the mean of every column over the known queries."""
        return np.asarray(self.scores.sum(axis=0) / self.known.sum())

    @property
    def measured(self) -> Floats:
        """Return the rows of the known queries alone."""
        return self.scores[self.known]

    def columns(self, numbers: Sequence[int]) -> "Side":
        """Return some of the columns."""
        return Side(self.scores[:, list(numbers)], self.known)

    def without_each(self) -> Floats:
        """Return the means that are left when one query is left out, a row per query."""
        total, count = self.scores.sum(axis=0), int(self.known.sum())
        if count == 1:  # nothing would be left
            return np.broadcast_to(self.means, self.scores.shape)
        left = (total - self.scores) / (count - 1)
        return np.where(self.known[:, None], left, self.means)


def score_matrix(frame: pd.DataFrame, qids: Sequence[str]) -> tuple[Side, list[tuple[Any, ...]]]:
    """Return Scores as a table of queries by (mechanism, parameter, value, attacker, measure), and these columns."""
    keys = [*SETTING, "attacker", "measure"]
    number = frame.groupby(keys, sort=False).ngroup().to_numpy()
    columns = list(frame[keys].drop_duplicates().itertuples(index=False, name=None))
    rows = pd.Index(qids).get_indexer(frame["qid"])
    matrix, known = np.zeros((len(qids), len(columns))), np.zeros(len(qids), bool)
    matrix[rows, number] = frame["score"].to_numpy()
    known[rows] = True
    return Side(matrix, known), columns


@dataclass(frozen=True, eq=False)
class Grid:
    """Risk and utility per query and setting, for one attacker, one persona and one measure of utility.

    Mechanisms are in the order they come in, their settings from most to least hidden.
    """

    attacker: str
    persona: str
    measure: str
    risk_measure: str
    qids: tuple[str, ...]
    settings: tuple[tuple[str, str, float], ...]
    risk: Side
    utility: Side


def grids(
    risks: pd.DataFrame, utilities: pd.DataFrame, hides_more: Mapping[str, str] | None = None
) -> dict[tuple[str, str, str], Grid]:
    """Return the grid of every (attacker, persona, measure of utility); queries and absence count as in `points`."""
    sides = _pair(risks, utilities, hides_more)
    grouped: dict[tuple[str, str, str], list[_Curve]] = {}
    for curve in sides.curves():
        grouped.setdefault(curve.name[1:], []).append(curve)
    return {
        key: Grid(
            *key,
            curves[0].risk_measure,
            tuple(sides.qids),
            tuple((curve.mechanism, curve.parameter, value) for curve in curves for value in curve.values),
            sides.risk.columns([column for curve in curves for column in curve.risk_columns]),
            sides.utility.columns([column for curve in curves for column in curve.utility_columns]),
        )
        for key, curves in grouped.items()
    }


def per_query(risk: Side, utility: Side, statistic: Statistic | None = None, original: Side | None = None) -> Floats:
    """Return numbers per query whose mean is the score of a curve: see the top of this module.

    ``statistic`` is the score of curves, points along the last axis, from risk, utility and the utility of the original
    queries (``original``, else 1): QuIPU where it is not given.
    """
    score_of = statistic or _quipu("parameter")
    top = Side(np.ones((len(risk.scores), 1)), risk.known) if original is None else original
    score = float(score_of(risk.means, utility.means, top.means[0]))
    left = score_of(risk.without_each(), utility.without_each(), top.without_each()[:, 0])
    return np.asarray(score + (len(left) - 1) * (left.mean() - left))


def reach(risk: Side, utility: Side, order: Order = "parameter") -> float:
    """Return how far from 0 the QuIPU score of a curve can be: 1 where its s never turns, else taken as 2."""
    s = np.add(*ordered(risk.means, utility.means, order))
    return 1.0 if (np.diff(s) >= -DUST).all() else 2.0


def _reaches(sides: "_Sides", curves: Sequence["_Curve"], order: Order) -> Floats:
    own = ((sides.risk.columns(curve.risk_columns), sides.utility.columns(curve.utility_columns)) for curve in curves)
    return np.array([reach(*pair, order) for pair in own])


def _quipu(order: Order) -> Statistic:
    return lambda r, u, original: area(*ordered(r, u, order))


# --- the two sides ------------------------------------------------------------------------------------------------

_NAME = ("mechanism", "attacker", "persona", "measure")


@dataclass(frozen=True)
class _Curve:
    """One curve: which mechanism, risk and utility, and its settings from most to least hidden."""

    mechanism: str
    parameter: str
    values: tuple[float, ...]
    attacker: str
    persona: str
    measure: str
    risk_measure: str
    risk_columns: tuple[int, ...]
    utility_columns: tuple[int, ...]

    @property
    def name(self) -> tuple[str, str, str, str]:
        return (self.mechanism, self.attacker, self.persona, self.measure)


@dataclass(frozen=True)
class _Sides:
    """Scores of the same queries: one column per setting and attacker, one per setting and measure."""

    qids: list[str]
    risk: Side
    utility: Side
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
                        attacker,
                        persona_of(risk),
                        measure,
                        risk,
                        tuple(_column(risk_at, (*setting, attacker, risk)) for setting in grid),
                        tuple(_column(utility_at, (*setting, "", measure)) for setting in grid),
                    )
                )
        return found


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
    known = {name: set(frame["qid"]) for name, frame in sides.items()}
    if known["risk"].isdisjoint(known["utility"]):
        raise InputError("no query has both a risk and a utility; are the scores of the same queries?")
    # Sorted, so that the draws belong to the queries and not to the order of the rows.
    qids = sorted(known["risk"] | known["utility"])
    matrices, columns = {}, {}
    for name, frame in sides.items():
        matrices[name], columns[name] = score_matrix(frame, qids)
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


def _per_query(sides: _Sides, curves: Sequence[_Curve], statistic: Statistic) -> Floats:
    """Return numbers per query (rows) whose means are the scores of the curves (columns)."""
    originals = {
        curve.measure: sides.utility.columns(curve.utility_columns) for curve in curves if curve.mechanism == ORIGINAL
    }
    columns = [
        per_query(
            sides.risk.columns(curve.risk_columns),
            sides.utility.columns(curve.utility_columns),
            statistic,
            originals.get(curve.measure),
        )
        for curve in curves
    ]
    return np.column_stack(columns)
