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
to 0 for any shape, and one that ends at a lower s than it begins with has the sign of its opposite, most likely
because nobody said that larger values hide more; neither is ever ranked (`why_unranked`). The companions (hypervolume,
best utility under a risk budget) do not depend on the order and never fall when a setting is added.

Reference: De Faveri, Faggioli, Ferro. ECIR 2025.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from quipukit.errors import FrameError, InputError
from quipukit.frames import from_most_hidden
from quipukit.measures.curves import (
    BACKWARDS,
    NARROW,
    ORDERS,
    SHORT,
    SINGLE,
    SLACK,
    Anchor,
    Floats,
    Order,
    anchored,
    area,
    diagonal_share,
    hypervolume,
    ordered,
    signed_areas,
    why_unranked,
)
from quipukit.measures.points import hides_more_of, points_frame, refuse_faults
from quipukit.richtext import block
from quipukit.settings import ORIGINAL
from quipukit.specs import format_value

BUDGETS = (0.01, 0.05, 0.1)
CURVE = ("collection", "mechanism", "attacker", "persona", "measure")


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

    def _repr_html_(self) -> str:
        best = {f"best utility at risk {budget:g} or less": found for budget, found in self.best if found is not None}
        facts = {"R+": self.positive, "R-": self.negative, "hypervolume": self.hypervolume, "settings": self.points}
        return block(f"QuIPU {self.value:.3f}", {**facts, **best}, self.flags)

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
        """Return whether the score may be ranked among others: see `why_unranked`."""
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
            text = f"{self.points} points run along the diagonal without turning ({where}), so the score is in [-1, 1]."
        else:
            text = (
                f"s falls by {self.backward:.3g} in all on its way ({where}): parts that run backwards count with the "
                "opposite sign, and the range [-1, 1] is not assured."
            )
        return text + why


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
    path = anchored(*ordered(r, u, order), anchor, u0 if u0 is None else ceiling)
    positive, negative = signed_areas(*path)
    s = (path[0] + path[1]) / math.sqrt(2)
    backward = float(-np.minimum(np.diff(s), 0.0).sum())
    unranked = why_unranked(*path)
    budgets = ((budget, u[r <= budget + SLACK]) for budget in BUDGETS)
    return QuipuScore(
        value=_tidy(float(area(*path))),
        positive=_tidy(positive),
        negative=_tidy(negative),
        monotone=backward <= SLACK,
        single=unranked == SINGLE,
        span=(float(s.min()), float(s.max())),
        backward=backward,
        hypervolume=float(hypervolume(r, u, ceiling)),
        best=tuple((budget, float(safe.max()) if len(safe) else None) for budget, safe in budgets),
        anchored=_tidy(float(area(*anchored(*ordered(r, u, "risk"), "corners", None)))),
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
        # As pairs: the frame was checked, and to check each part of it again takes longer than its score.
        places = from_most_hidden(curve["value"].to_numpy(), curve["hides_more"].to_numpy())
        pairs = curve[["risk", "utility"]].to_numpy()[np.argsort(places, kind="stable")]
        score = quipu_score(pairs, order, anchor, ceiling)
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


def _tidy(number: float) -> float:
    """Return a score without the dust of its last digits: 0.315, not 0.31499999999999995; and never -0."""
    return round(number, 14) + 0.0


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
    if not ((pairs >= 0) & (pairs <= 1)).all():
        names = [f"point {number}" for number in range(1, len(pairs) + 1)]
        for column, name in enumerate(("risk", "utility")):
            refuse_faults(pd.Series(pairs[:, column]), name, names)
    return np.clip(pairs[:, 0], 0.0, 1.0), np.clip(pairs[:, 1], 0.0, 1.0)


def _one_curve(frame: pd.DataFrame) -> Any:
    for column in ("risk", "utility"):
        if column not in frame.columns:
            columns = ", ".join(repr(str(name)) for name in frame.columns) or "none"
            raise FrameError(f"Points needs column {column!r} (found {columns}); rename or add it.")
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
        order = from_most_hidden(values.to_numpy(), hides_more_of(known).to_numpy())
        frame = frame.iloc[np.argsort(order, kind="stable")]
    return frame[["risk", "utility"]].to_numpy()


def _name(key: tuple[Any, ...]) -> str:
    return " ".join(part for part in (*key[1:], key[0]) if part)
