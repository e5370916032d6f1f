"""Risk and utility of the same queries, side by side: a row per query, a column per setting, and the curves of both."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from quipukit.errors import InputError
from quipukit.frames import SCORES, SETTING, from_most_hidden
from quipukit.measures.intervals import Floats
from quipukit.measures.risk import persona_of
from quipukit.measures.strongest import STRONGEST
from quipukit.registry import HidesMore, directions
from quipukit.specs import format_value

CURVE_NAME = ("mechanism", "attacker", "persona", "measure")


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


@dataclass(frozen=True, eq=False)
class HighestSide(Side):
    """The strongest of several attackers at every setting: means are the highest of theirs, whoever is left out.

    So what follows from the means allows for the choice: with other queries another attacker may be the strongest.
    ``scores`` are those of the attacker chosen by all queries.
    """

    rivals: tuple[Side, ...] = ()

    @classmethod
    def of(cls, rivals: "Sequence[Side]") -> "HighestSide":
        """Choose the attacker with the highest mean at every setting."""
        best = np.argmax([rival.means for rival in rivals], axis=0)
        scores = [rivals[number].scores[:, column] for column, number in enumerate(best)]
        return cls(np.column_stack(scores), rivals[0].known, tuple(rivals))

    @property
    def means(self) -> Floats:
        """Return the highest mean of every column."""
        highest: Floats = np.max([rival.means for rival in self.rivals], axis=0)
        return highest

    def columns(self, numbers: Sequence[int]) -> "HighestSide":
        """Return some of the columns."""
        return HighestSide.of([rival.columns(numbers) for rival in self.rivals])

    def without_each(self) -> Floats:
        """Return the highest means that are left when one query is left out."""
        highest: Floats = np.max([rival.without_each() for rival in self.rivals], axis=0)
        return highest


def score_matrix(frame: pd.DataFrame, qids: Sequence[str]) -> tuple[Side, list[tuple[Any, ...]]]:
    """Return Scores as a table of queries by (mechanism, parameter, value, attacker, measure), and these columns."""
    keys = [*SETTING, "attacker", "measure"]
    # By hand: pandas takes milliseconds to group a few rows, and with many it is no more than twice as fast.
    columns: dict[tuple[Any, ...], int] = {}
    number = [
        columns.setdefault(key, len(columns)) for key in zip(*(frame[name].tolist() for name in keys), strict=True)
    ]
    place = {qid: row for row, qid in enumerate(qids)}
    rows = [place[qid] for qid in frame["qid"].tolist()]
    matrix, known = np.zeros((len(qids), len(columns))), np.zeros(len(qids), bool)
    matrix[rows, number] = frame["score"].to_numpy()
    known[rows] = True
    return Side(matrix, known), list(columns)


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
    sides = pair_sides(risks, utilities, hides_more)
    grouped: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in sides.curves():
        grouped.setdefault(curve.name[1:], []).append(curve)
    return {
        key: Grid(
            *key,
            curves[0].risk_measure,
            tuple(sides.qids),
            tuple((curve.mechanism, curve.parameter, value) for curve in curves for value in curve.values),
            _joined_risks(sides, curves),
            sides.utility.columns([column for curve in curves for column in curve.utility_columns]),
        )
        for key, curves in grouped.items()
    }


def _joined_risks(sides: "Sides", curves: "Sequence[Curve]") -> Side:
    """Return the risks of several curves of one attacker as one table."""
    rivals = zip(*(curve.rivals for curve in curves), strict=True)
    joined = [sides.risk.columns([column for columns in own for column in columns]) for own in rivals]
    return HighestSide.of(joined) if len(joined) > 1 else joined[0]


@dataclass(frozen=True)
class Curve:
    """One curve: which mechanism, risk and utility, and its settings from most to least hidden."""

    mechanism: str
    parameter: str
    values: tuple[float, ...]
    attacker: str
    persona: str
    measure: str
    risk_measure: str
    rivals: tuple[tuple[int, ...], ...]  # the columns of its attacker's risks; of the strongest, those of each
    utility_columns: tuple[int, ...]

    @property
    def name(self) -> tuple[str, str, str, str]:
        """Return what identifies it: see ``CURVE_NAME``."""
        return (self.mechanism, self.attacker, self.persona, self.measure)


@dataclass(frozen=True)
class Sides:
    """Scores of the same queries: one column per setting and attacker, one per setting and measure."""

    qids: list[str]
    risk: Side
    utility: Side
    risk_columns: list[tuple[Any, ...]]
    utility_columns: list[tuple[Any, ...]]
    hides_more: Mapping[str, HidesMore]

    def risk_of(self, curve: Curve) -> Side:
        """Return the risks of a curve."""
        return _joined_risks(self, [curve])

    def utility_of(self, curve: Curve) -> Side:
        """Return the utilities of a curve."""
        return self.utility.columns(curve.utility_columns)

    def curves(self) -> list[Curve]:
        """Return every curve: each mechanism with each attacker, persona and measure of utility.

        Where there are several attackers, the last of them is the strongest at every setting (`STRONGEST`).
        """
        risk_at = {column: number for number, column in enumerate(self.risk_columns)}
        utility_at = {column: number for number, column in enumerate(self.utility_columns)}
        attackers = self._attackers()
        measures = list(dict.fromkeys(column[3:] for column in self.utility_columns))
        settings: dict[str, dict[float, str]] = {}
        for mechanism, parameter, value, *_ in self.risk_columns:
            settings.setdefault(mechanism, {})[value] = parameter
        curves = []
        for mechanism, named in settings.items():
            order = np.argsort(from_most_hidden(list(named), self.hides_more[mechanism]))
            values = tuple(list(named)[place] for place in order)
            grid = [(mechanism, named[value], value) for value in values]
            for (attacker, risk, names), (_, measure) in itertools.product(attackers, measures):
                curves.append(
                    Curve(
                        mechanism,
                        named[values[0]],
                        values,
                        attacker,
                        persona_of(risk),
                        measure,
                        risk,
                        tuple(tuple(_column(risk_at, (*setting, name, risk)) for setting in grid) for name in names),
                        tuple(_column(utility_at, (*setting, "", measure)) for setting in grid),
                    )
                )
        return curves

    def _attackers(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Return every attacker and measure of risk, with the names of those behind it."""
        pairs = list(dict.fromkeys(column[3:] for column in self.risk_columns))
        found = [(name, risk, (name,)) for name, risk in pairs]
        by_measure: dict[str, list[str]] = {}
        for name, risk in pairs:
            by_measure.setdefault(risk, []).append(name)
        return found + [(STRONGEST, risk, tuple(names)) for risk, names in by_measure.items() if len(names) > 1]


def pair_sides(risks: pd.DataFrame, utilities: pd.DataFrame, hides_more: Mapping[str, str] | None = None) -> Sides:
    """Return the scores of both sides, checked: every setting must have a risk and a utility."""
    sides = {}
    for name, frame in (("risk", risks), ("utility", utilities)):
        checked = SCORES.check(frame[frame["attacker"] != STRONGEST] if "attacker" in frame else frame)
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
    return Sides(qids, matrices["risk"], matrices["utility"], columns["risk"], columns["utility"], directed)


def _column(columns: Mapping[tuple[Any, ...], int], wanted: tuple[Any, ...]) -> int:
    if wanted not in columns:
        mechanism, _, value, attacker, measure = wanted
        setting = f"{mechanism}@{format_value(value)}"
        who = f"{measure} of {attacker}" if attacker else measure
        raise InputError(
            f"{setting} has no score {who}, which other settings have; measure it, or leave {setting} out."
        )
    return columns[wanted]


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
