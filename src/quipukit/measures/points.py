"""Points: mean risk and mean utility of every setting, from scores per query or from a user's own table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from quipukit.errors import FrameError, InputError
from quipukit.frames import POINTS, SETTING
from quipukit.measures.curves import SLACK
from quipukit.measures.intervals import mean_intervals
from quipukit.measures.risk import is_persona
from quipukit.measures.sides import Side, pair_sides, score_matrix
from quipukit.registry import directions


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
    motivated: which of the attacker's risks it is. Where there are several attackers, further rows are of the one that
    is the strongest at each setting, as attacker "strongest". ``strategies`` maps mechanisms to theirs, ``hides_more``
    to which of their values hide more (what the class says, where it is not given).
    """
    sides = pair_sides(risks, utilities, hides_more)
    rows = []
    for curve in sides.curves():
        r, u = sides.risk_of(curve).means, sides.utility_of(curve).means
        names = (collection, curve.mechanism, (strategies or {}).get(curve.mechanism, ""), curve.parameter)
        rows += [
            (*names, value, sides.hides_more[curve.mechanism], curve.attacker, curve.persona, curve.measure, *means)
            for value, *means in zip(curve.values, r, u, strict=True)
        ]
    return POINTS.check(pd.DataFrame(rows, columns=list(POINTS.columns)))


def points_frame(points: pd.DataFrame) -> pd.DataFrame:
    """Return a Points table from a user's frame, with empty texts for the columns that may be absent.

    Columns collection, strategy, parameter, hides_more, attacker, persona and measure may be absent. Where
    ``hides_more`` is absent or empty, it is what the class of the mechanism says, and "smaller" for unknown ones. A
    table without ``persona`` is of an earlier version, whose column ``attacker`` held it: see `split_persona`.
    """
    if "persona" not in points.columns and "attacker" in points.columns:
        pairs = [split_persona(str(attacker)) for attacker in points["attacker"].fillna("")]
        points = points.assign(attacker=[pair[0] for pair in pairs], persona=[pair[1] for pair in pairs])
    absent = [column for column, kind in POINTS.columns.items() if kind == "text" and column not in points.columns]
    filled = points.assign(**{column: "" for column in absent if column != "mechanism"})
    if "mechanism" in filled.columns:
        filled = filled.assign(hides_more=hides_more_of(filled))
    for column in ("risk", "utility"):
        if column in filled.columns and {"mechanism", "value"} <= set(filled.columns):
            settings = zip(filled["mechanism"], filled["value"], strict=True)
            refuse_faults(filled[column], column, [f"{mechanism} at {value}" for mechanism, value in settings])
    checked = POINTS.check(filled)
    if checked.empty:
        raise FrameError("Points: the table has no row; give one per setting: mechanism, value, risk, utility.")
    return checked


def split_persona(attacker: str) -> tuple[str, str]:
    """Return attacker and persona of what a column ``attacker`` held before there was a column for personas.

    >>> split_persona("lazy"), split_persona("Bayes active@20"), split_persona("QuIA")
    (('QuIA', 'lazy'), ('Bayes', 'active@20'), ('QuIA', ''))
    """
    name, _, persona = attacker.rpartition(" ")
    return (name or "QuIA", persona) if is_persona(persona) else (attacker, "")


def hides_more_of(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return for every row whether smaller or larger values of its mechanism's parameter hide more."""
    said = frame.get("hides_more", pd.Series("", frame.index)).fillna("").astype(str)
    pairs = list(zip(frame["mechanism"].astype(str), said, strict=True))
    known = {pair: directions([pair[0]], dict([pair]))[pair[0]] for pair in dict.fromkeys(pairs)}
    return pd.Series([known[pair] for pair in pairs], frame.index, object)


def refuse_faults(column: "pd.Series[Any]", name: str, places: Sequence[str]) -> None:
    """Refuse a risk or a utility that is no number from 0 to 1, and say where it stands."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    fault = ~((numbers >= -SLACK) & (numbers <= 1 + SLACK))
    if fault.any():
        row = int(fault.argmax())
        given = str(column.iloc[row]).strip() or "empty"
        raise InputError(
            f"{places[row]}: {name} is {given}, but must be a number from 0 to 1; "
            "measure the setting again or leave it out."
        )


def means_with_intervals(scores: pd.DataFrame, name: str, hits: bool) -> tuple[pd.DataFrame, Side]:
    """Return the mean of every setting and attacker with its interval, and the scores behind both."""
    side, columns = score_matrix(scores, sorted(set(scores["qid"])))
    low, high = mean_intervals(side.scores, hits=hits)
    keys = pd.DataFrame(columns, columns=[*SETTING, "attacker", "measure"]).drop(columns="measure")
    return keys.assign(**{name: side.means, f"{name}_low": low, f"{name}_high": high}), side
