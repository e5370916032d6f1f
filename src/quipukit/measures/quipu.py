"""The QuIPU score: risk and utility of all settings of a mechanism as one signed area.

Points (r, u) of mean risk and mean utility, one per setting, from most to least hidden, are read in coordinates
rotated by 45 degrees: s = (r + u) / sqrt(2) runs along the diagonal, on which a mechanism gives away as much as it
finds, and h = (u - r) / sqrt(2) is the signed distance from it. From most to least hidden is the increasing order of
the privacy parameter, as published, where smaller values hide more; a mechanism whose larger values hide more says so
(``hides_more``), and its points are read in the opposite order. The polyline through the points encloses
with the diagonal the areas R+ above (h > 0) and R- below (h < 0):

    QuIPU = 2 (R+ + R-) = 2 sum_i (h_i + h_{i+1}) / 2 * (s_{i+1} - s_i)

Nothing is added at the ends, nothing sorted, nothing merged. In closed form, the shoelace sum and the two triangles
between the end points and the diagonal:

    QuIPU = sum_i (u_i r_{i+1} - r_i u_{i+1}) + ((u_m^2 - r_m^2) - (u_1^2 - r_1^2)) / 2

What to know before comparing scores: points that coincide score 0 wherever they lie; reversing the order flips the
sign; the range [-1, 1] holds where s never turns; and a leaky setting can raise the score, so that only grids that
span comparable parts of the diagonal are comparable. A curve that spans less than a tenth of the diagonal scores close
to 0 whatever it does, and one that ends at a lower s than it begins with has the sign of its opposite, most likely
because nobody said that larger values hide more; neither is ever ranked (`why_unranked`). The companions (hypervolume,
best utility under a risk budget) do not depend on the order and never fall when a setting is added.

Reference: De Faveri, Faggioli, Ferro. ECIR 2025.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from quipukit.errors import FrameError, InputError
from quipukit.frames import POINTS, from_most_hidden
from quipukit.measures.risk import is_persona
from quipukit.registry import directions
from quipukit.specs import format_value

Order = Literal["parameter", "risk", "diagonal"]
Anchor = Literal["corners", "original"]
ORDERS: tuple[Order, ...] = ("parameter", "risk", "diagonal")
ANCHORS: tuple[Anchor, ...] = ("corners", "original")
BUDGETS = (0.01, 0.05, 0.1)
CURVE = ("collection", "mechanism", "attacker", "persona", "measure")
ORIGINAL = "Identity"  # the mechanism that sends the query as it is
NARROW = 0.1  # of the diagonal: a curve that spans less of it is not ranked

# Why a curve is not ranked, starred or called better by anything.
SINGLE, SHORT, BACKWARDS = "single point", "narrow", "runs backwards"

# Means of thousands of numbers may leave [0, 1] by their last digits.
_SLACK = 1e-9

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QuipuScore:
    """The score of one curve, its parts, and what to read beside it.

    ``value`` = 2 (``positive`` + ``negative``), R+ and R-. ``single``: all points coincide. ``monotone``: s never
    falls from one point to the next; ``backward`` is the sum of its falls, ``span`` its least and largest value, and
    ``unranked`` why the score may not be ranked among others, empty where it may (`why_unranked`).
    ``hypervolume`` and ``best`` (the best utility at risk 0.01, 0.05 and 0.1 at most; None where no setting is that
    safe) do not depend on the order. ``anchored`` is the score with (0, 0) and (1, 1) at the ends and the points sorted
    by risk, which is 2 AUC - 1.
    """

    value: float
    positive: float
    negative: float
    monotone: bool
    single: bool
    span: tuple[float, float]
    backward: float
    hypervolume: float
    best: tuple[tuple[float, float | None], ...]
    anchored: float
    points: int
    unranked: str

    def best_utility(self, budget: float) -> float | None:
        """Return the best utility at one of the risk budgets, None where no setting is that safe."""
        for known, utility in self.best:
            if known == budget:
                return utility
        raise InputError(f"budget must be one of {', '.join(f'{b:g}' for b, _ in self.best)} (found {budget!r}).")

    @property
    def length(self) -> float:
        """Return the share of the diagonal that the curve spans, from 0 to 1."""
        return float(diagonal_share(*self.span))

    @property
    def rankable(self) -> bool:
        """Tell whether the score may be ranked among others: see `why_unranked`."""
        return not self.unranked

    @property
    def flags(self) -> tuple[str, ...]:
        """Return what a reader must know in a word or two each."""
        return tuple(filter(None, [self.unranked, "" if self.monotone else "not monotone"]))

    def explain(self) -> str:
        """Return one sentence that says how far the score can be trusted."""
        if self.single:
            what = "the curve is a single point" if self.points == 1 else f"all {self.points} points coincide"
            return f"{what}, so the score is 0 wherever it lies; compare the hypervolume, or add settings."
        low, high = self.span
        where = f"s from {low:.3f} to {high:.3f}"
        why = ""
        if self.unranked == SHORT:
            why = (
                f" The points span {100 * self.length:.2g} % of the diagonal, less than {100 * NARROW:g} %, so the "
                "score is close to 0 whatever the mechanism does and is not ranked; compare the hypervolume."
            )
        if self.unranked == BACKWARDS:
            why = (
                " On the whole the curve runs backwards, from more to less risk and utility, so the score has the sign "
                "of its opposite and is not ranked; if larger values hide more, declare hides_more."
            )
        if self.monotone:
            told = f"{self.points} points run along the diagonal without turning ({where}), so the score is in [-1, 1]."
        else:
            told = (
                f"s falls by {self.backward:.3g} in all on its way ({where}): parts that run backwards count with the "
                "opposite sign, and the range [-1, 1] is not assured."
            )
        return told + why


def quipu_score(
    points: "pd.DataFrame | ArrayLike | Iterable[Sequence[float]]",
    order: Order = "parameter",
    anchor: Anchor | None = None,
    u0: float | None = None,
) -> QuipuScore:
    """Return the QuIPU score of one curve.

    ``points`` are pairs (risk, utility) from most to least hidden, or a frame of one curve with the columns risk and
    utility; its column ``value``, where present, gives the order: increasing, unless larger values hide more (the
    column ``hides_more``, or without it what the class of the ``mechanism`` says). ``order="risk"`` or ``"diagonal"``
    sorts by r or by s instead, and ``anchor`` adds end points: ``"corners"`` (0, 0) and (1, 1), ``"original"`` (0, 0)
    and (1, u0). The defaults are the published definition. ``u0`` is the utility of the original queries, by which the
    hypervolume is normalized; 1 where it is not given:

        HV = (integral over rho in [0, 1] of max{min(u_i, u0) : r_i <= rho}) / u0

    >>> quipu_score([(0, 0), (0, 1), (1, 1)]).value
    1.0
    >>> quipu_score([(0, 0), (0, 0.6), (0.9, 0.6)]).value
    0.315
    """
    if order not in ORDERS:
        raise InputError(f"order must be one of {', '.join(map(repr, ORDERS))} (found {order!r}).")
    ceiling = _ceiling(u0)
    r, u = _pairs(points)
    path = _anchored(*ordered(r, u, order), anchor, u0 if u0 is None else ceiling)
    positive, negative = _areas(*path)
    s = (path[0] + path[1]) / math.sqrt(2)
    backward = float(-np.minimum(np.diff(s), 0.0).sum())
    unranked = why_unranked(*path)
    budgets = ((budget, u[r <= budget + _SLACK]) for budget in BUDGETS)
    return QuipuScore(
        value=_tidy(float(area(*path))),
        positive=_tidy(positive),
        negative=_tidy(negative),
        monotone=backward <= _SLACK,
        single=unranked == SINGLE,
        span=(float(s.min()), float(s.max())),
        backward=backward,
        hypervolume=float(hypervolume(r, u, ceiling)),
        best=tuple((budget, float(safe.max()) if len(safe) else None) for budget, safe in budgets),
        anchored=_tidy(float(area(*_anchored(*ordered(r, u, "risk"), "corners", None)))),
        points=len(r),
        unranked=unranked,
    )


def quipu_table(
    points: pd.DataFrame, order: Order = "parameter", anchor: Anchor | None = None, u0: float | None = None
) -> pd.DataFrame:
    """Return the scores of all curves of a Points frame, one row per curve: see ``CURVE``.

    Columns may be absent as in `points_frame`. Where ``u0`` is not given, the utility of the mechanism ``Identity`` in
    the same collection and measure takes its place, and else 1; the column ``u0`` says which it was. ``length`` is the
    share of the diagonal that a curve spans, ``rankable`` tells whether its score may be ranked, and ``unranked`` why
    not (`why_unranked`).
    """
    checked = points_frame(points)
    original = checked[checked["mechanism"] == ORIGINAL].groupby(["collection", "measure"])["utility"].max()
    rows: list[dict[str, Any]] = []
    for key, curve in checked.groupby(list(CURVE), sort=False):
        parameters = list(dict.fromkeys(curve["parameter"]))
        name = _name(key)
        if len(parameters) > 1:
            raise FrameError(f"Points: {name} mixes the parameters {', '.join(parameters)}; score one at a time.")
        if curve["hides_more"].nunique() > 1:
            raise FrameError(f"Points: {name} has both smaller and larger values that hide more; keep one of the two.")
        ceiling = min(1.0, float(original.get((key[0], key[-1]), 0.0))) or None if u0 is None else u0
        score = quipu_score(curve, order, anchor, ceiling)
        rows.append(
            {
                **dict(zip(CURVE, key, strict=True)),
                "points": score.points,
                "quipu": score.value,
                "positive": score.positive,
                "negative": score.negative,
                "hypervolume": score.hypervolume,
                **{f"best_{budget:g}": np.nan if best is None else best for budget, best in score.best},
                "anchored": score.anchored,
                "hides_more": curve["hides_more"].iloc[0],
                "single": score.single,
                "length": score.length,
                "rankable": score.rankable,
                "unranked": score.unranked,
                "monotone": score.monotone,
                "backward": score.backward,
                "s_low": score.span[0],
                "s_high": score.span[1],
                "u0": 1.0 if ceiling is None else ceiling,
                "note": "" if not score.flags else score.explain(),
            }
        )
    return pd.DataFrame(rows)


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
        filled = filled.assign(hides_more=_hides_more(filled))
    for column in ("risk", "utility"):
        if column in filled.columns and {"mechanism", "value"} <= set(filled.columns):
            settings = zip(filled["mechanism"], filled["value"], strict=True)
            _refuse_faults(filled[column], column, [f"{mechanism} at {value}" for mechanism, value in settings])
    checked = POINTS.check(filled)
    if checked.empty:
        raise FrameError("Points: the table has no row; give one a setting: mechanism, value, risk, utility.")
    return checked


def split_persona(attacker: str) -> tuple[str, str]:
    """Return attacker and persona of what a column ``attacker`` held before there was a column for personas.

    >>> split_persona("lazy"), split_persona("Bayes active@20"), split_persona("QuIA")
    (('QuIA', 'lazy'), ('Bayes', 'active@20'), ('QuIA', ''))
    """
    name, _, persona = attacker.rpartition(" ")
    return (name or "QuIA", persona) if is_persona(persona) else (attacker, "")


def area(r: ArrayLike, u: ArrayLike) -> Floats:
    """Return twice the signed area between polylines and the diagonal; points along the last axis, in order."""
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    # h and s without their square roots: the two factors 1 / sqrt(2) and the 2 of the score make 1.
    h, s = utility - risk, utility + risk
    return np.asarray(((h[..., 1:] + h[..., :-1]) / 2 * np.diff(s, axis=-1)).sum(axis=-1))


def ordered(r: Floats, u: Floats, order: Order) -> tuple[Floats, Floats]:
    """Return the points of many curves (along the last axis) in the order in which they are joined."""
    if order == "parameter":
        return r, u
    # The second key makes the order of ties a property of the points, not of the rows they stood in.
    by = np.lexsort((u, r) if order == "risk" else (u - r, u + r), axis=-1)
    return np.take_along_axis(r, by, -1), np.take_along_axis(u, by, -1)


def diagonal_share(low: ArrayLike, high: ArrayLike) -> Floats:
    """Return the share of the diagonal between two values of s, which runs from 0 to sqrt(2) along it."""
    return (np.asarray(high, np.float64) - np.asarray(low, np.float64)) / math.sqrt(2)


def why_unranked(r: ArrayLike, u: ArrayLike) -> str:
    """Return why a curve through these points is never ranked, starred or called better; empty where it may be.

    >>> why_unranked([0.1], [0.5]), why_unranked([0.1, 0.15], [0.5, 0.55]), why_unranked([0.9, 0.1], [0.8, 0.3])
    ('single point', 'narrow', 'runs backwards')
    """
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    along = (risk + utility) / math.sqrt(2)
    if len(set(zip(risk.tolist(), utility.tolist(), strict=True))) == 1:
        return SINGLE
    if diagonal_share(along.min(), along.max()) < NARROW - _SLACK:
        return SHORT
    return BACKWARDS if along[-1] < along[0] - _SLACK else ""


def hypervolume(r: ArrayLike, u: ArrayLike, ceiling: ArrayLike = 1.0) -> Floats:
    """Return the hypervolume of many curves, points along the last axis in any order: see `quipu_score`.

    ``ceiling`` is the utility of the original queries, one number or one per curve; where it is 0, nothing can be found
    and the volume is 0.
    """
    risk, utility = np.asarray(r, np.float64), np.asarray(u, np.float64)
    top = np.broadcast_to(np.asarray(ceiling, np.float64), risk.shape[:-1])
    by = np.argsort(risk, axis=-1, kind="stable")
    risk, utility = np.take_along_axis(risk, by, -1), np.take_along_axis(utility, by, -1)
    best = np.maximum.accumulate(np.minimum(utility, top[..., None]), axis=-1)
    widths = np.diff(risk, axis=-1, append=np.ones((*risk.shape[:-1], 1)))
    volume = (best * widths).sum(axis=-1)
    return np.divide(volume, top, out=np.zeros_like(volume), where=top > 0)


# --- the parts of a score -----------------------------------------------------------------------------------------


def _anchored(r: Floats, u: Floats, anchor: Anchor | None, u0: float | None) -> tuple[Floats, Floats]:
    if anchor is None:
        return r, u
    if anchor not in ANCHORS:
        raise InputError(f"anchor must be None, 'corners' or 'original' (found {anchor!r}).")
    if anchor == "original" and u0 is None:
        raise InputError(
            "anchor='original' ends at the original queries and needs their utility; pass u0=UTILITY, or add the "
            "mechanism Identity to the points.",
            argument=("anchor", "u0"),
        )
    end = 1.0 if anchor == "corners" else float(u0 or 0.0)
    return np.concatenate([[0.0], r, [1.0]]), np.concatenate([[0.0], u, [end]])


def _areas(r: Floats, u: Floats) -> tuple[float, float]:
    """Return R+ and R-: each segment is cut where it crosses the diagonal."""
    h, s = (u - r) / math.sqrt(2), (u + r) / math.sqrt(2)
    start, end, step = h[:-1], h[1:], np.diff(s)
    crosses = start * end < 0
    share = np.divide(start, start - end, out=np.ones_like(start), where=crosses)
    # Uncut segments are trapezoids: with share 1 the first piece is the whole of it.
    first = np.where(crosses, start / 2 * share, (start + end) / 2) * step
    second = np.where(crosses, end / 2 * (1 - share), 0.0) * step
    side = np.where(crosses, start, start + end)
    positive = first[side > 0].sum() + second[end > 0].sum()
    negative = first[side < 0].sum() + second[end < 0].sum()
    return float(positive), float(negative)


def _tidy(number: float) -> float:
    """Return a score without the dust of its last digits: 0.315, not 0.31499999999999995; and never -0."""
    return round(number, 14) + 0.0


# --- what a curve may be given as ---------------------------------------------------------------------------------


def _ceiling(u0: float | None) -> float:
    if u0 is None:
        return 1.0
    if not 0 < u0 <= 1:
        raise InputError(f"u0, the utility of the original queries, must lie in (0, 1] (found {u0!r}).")
    return float(u0)


def _pairs(points: Any) -> tuple[Floats, Floats]:
    if isinstance(points, pd.DataFrame):
        points = _one_curve(points)
    try:
        pairs = np.asarray(points if isinstance(points, np.ndarray) else list(points), np.float64)
    except (TypeError, ValueError):
        raise InputError("points must be pairs (risk, utility) of numbers, or a frame with these columns.") from None
    if pairs.size == 0:
        raise InputError("there is no point; give at least one pair (risk, utility).")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError(f"points must be pairs (risk, utility) (found an array of shape {pairs.shape}).")
    names = [f"point {number}" for number in range(1, len(pairs) + 1)]
    for column, name in enumerate(("risk", "utility")):
        _refuse_faults(pd.Series(pairs[:, column]), name, names)
    return np.clip(pairs[:, 0], 0.0, 1.0), np.clip(pairs[:, 1], 0.0, 1.0)


def _one_curve(frame: pd.DataFrame) -> Any:
    for column in ("risk", "utility"):
        if column not in frame.columns:
            found = ", ".join(repr(str(name)) for name in frame.columns) or "none"
            raise FrameError(f"Points needs column {column!r} (found {found}); rename or add it.")
    names = [column for column in CURVE if column in frame.columns]
    curves = len(frame[names].drop_duplicates()) if names else 1
    if curves > 1:
        raise InputError(f"the frame holds {curves} curves; use quipu_table, or choose one.")
    if "value" in frame.columns:
        values = pd.to_numeric(frame["value"], errors="coerce")
        if values.isna().any():
            raise FrameError("Points: column 'value' must hold numbers; it gives the order of the points.")
        if values.duplicated().any():
            twice = format_value(float(values[values.duplicated()].iloc[0]))
            raise FrameError(f"Points: two points have the value {twice}; keep one of them.")
        known = frame if "mechanism" in frame.columns else frame.assign(mechanism="")
        order = from_most_hidden(values.to_numpy(), _hides_more(known).to_numpy())
        frame = frame.iloc[np.argsort(order, kind="stable")]
    return frame[["risk", "utility"]].to_numpy()


def _hides_more(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return for every row whether smaller or larger values of its mechanism's parameter hide more."""
    said = frame.get("hides_more", pd.Series("", frame.index)).fillna("").astype(str)
    pairs = list(zip(frame["mechanism"].astype(str), said, strict=True))
    known = {pair: directions([pair[0]], dict([pair]))[pair[0]] for pair in dict.fromkeys(pairs)}
    return pd.Series([known[pair] for pair in pairs], frame.index, object)


def _refuse_faults(column: "pd.Series[Any]", name: str, places: Sequence[str]) -> None:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    fault = ~((numbers >= -_SLACK) & (numbers <= 1 + _SLACK))
    if fault.any():
        row = int(fault.argmax())
        given = str(column.iloc[row]).strip() or "empty"
        raise InputError(
            f"{places[row]}: {name} is {given}, but must be a number from 0 to 1; "
            "measure the setting again or leave it out."
        )


def _name(key: tuple[Any, ...]) -> str:
    return " ".join(part for part in (*key[1:], key[0]) if part)
