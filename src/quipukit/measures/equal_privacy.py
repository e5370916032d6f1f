"""Equal empirical privacy: the setting of each mechanism at which the strongest attacker finds the same share.

An epsilon of one mechanism says nothing about that of another. The risk does: at the settings where the strongest
attacker's R@10 is 0.1, all mechanisms are equally private in this sense, and their utilities are comparable.

**Between settings.** Risk and utility are interpolated linearly between neighboring settings, from most to least
hidden: over the logarithm of epsilon and of k, which people space by factors, and over the value of other parameters.

**Where the risk falls.** The mean risk of a few queries need not rise from setting to setting, so it is first replaced
by the rising curve nearest to it (isotonic regression; all settings have the same queries, hence equal weights). The
alternative, the first place at which the raw curve passes the target, follows whichever setting chance lifted first,
and so comes out too hidden, the more so the closer the settings stand. The price: a risk that really falls where the
parameter says it should rise is leveled too. ``misfit`` is how far a mean was moved, for the reader to see.

**Not reached.** *Never*: the risk is above the target even at the most hidden setting. *Always*: it is below the target
even at the least hidden one. Nothing is extrapolated.

**Intervals.** Queries are drawn with replacement; in every draw the strongest attacker of each setting is chosen again,
and fit and interpolation are repeated. A draw that does not reach the target lies beyond the first or the last setting,
and an interval may so be open. Draws know nothing of hits that no query had: few queries make intervals too narrow.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from quipukit.errors import InputError
from quipukit.measures.intervals import LEVEL, Floats, tail
from quipukit.measures.resampling import REPLICATES, Seed
from quipukit.measures.sides import Grid, HighestSide, Side

TARGETS = (0.05, 0.1, 0.2)
LOGARITHMIC = ("epsilon", "k")
AT, NEVER, ALWAYS = "at", "never", "always"

_BLOCK = 250  # draws at a time
_SLACK = 1e-9  # means of many numbers differ in their last digits


def equal_privacy(
    grid: Grid,
    targets: Sequence[float] = TARGETS,
    *,
    mechanisms: Sequence[str] | None = None,
    replicates: int = REPLICATES,
    level: float = LEVEL,
    seed: Seed = 0,
) -> pd.DataFrame:
    """Return where each mechanism's risk is a target, and its utility there; a row per mechanism and target.

    ``grid`` holds risk and utility per query (`quipukit.measures.sides.grids`). Columns: mechanism, parameter, target,
    reached (at, never or always), value, value_low, value_high, utility, utility_low, utility_high, draws (the share of
    them that reach the target), first, first_risk, last, last_risk (the most and the least hidden setting), misfit. A
    ``value_low`` or ``value_high`` is infinite where the interval is open. The ends of the utility are over the draws
    that reach the target.
    """
    for target in targets:
        if not 0 < target < 1:
            raise InputError(f"a target must be a risk between 0 and 1 (found {target!r}).")
    names = list(dict.fromkeys(mechanism for mechanism, *_ in grid.settings))
    all_risks, all_utilities = _draws(grid, replicates, seed)
    rows = []
    for name in names if mechanisms is None else [name for name in names if name in mechanisms]:
        columns = [number for number, setting in enumerate(grid.settings) if setting[0] == name]
        parameter = grid.settings[columns[0]][1]
        values = np.array([grid.settings[number][2] for number in columns])
        risk, utility = grid.risk.columns(columns), grid.utility.columns(columns)
        means, found = risk.means, utility.means
        fit = isotonic(means)
        drawn, drawn_utility = isotonic(all_risks[:, columns]), all_utilities[:, columns]
        ends = {"first": values[0], "first_risk": fit[0], "last": values[-1], "last_risk": fit[-1]}
        for target in targets:
            place, places = float(crossings(fit, target)), crossings(drawn, target)
            inside = np.isfinite(places)
            utilities = _between(drawn_utility[inside], places[inside])
            bounds = sorted(float(value_at(values, end, parameter)) for end in _ends(places, level))
            rows.append(
                {
                    **{"mechanism": name, "parameter": parameter, "target": float(target)},
                    "reached": AT if np.isfinite(place) else NEVER if place < 0 else ALWAYS,
                    "value": float(value_at(values, place, parameter)) if np.isfinite(place) else np.nan,
                    **dict(zip(("value_low", "value_high"), bounds, strict=True)),
                    "utility": float(_between(found[None], np.array([place]))[0]) if np.isfinite(place) else np.nan,
                    **dict(zip(("utility_low", "utility_high"), _ends(utilities, level), strict=True)),
                    "draws": float(inside.mean()),
                    **ends,
                    "misfit": float(np.abs(fit - means).max()),
                }
            )
    return pd.DataFrame(rows)


def isotonic(heights: Floats) -> Floats:
    """Return the rising curves nearest to some curves (points along the last axis), by the sum of squares.

    Height i of the fit is the largest over all starts j <= i of the least over all ends k >= i of the mean from j to k.

    >>> isotonic(np.array([0.1, 0.4, 0.2, 0.9])).round(3).tolist()
    [0.1, 0.3, 0.3, 0.9]
    """
    count = heights.shape[-1]
    sums = np.concatenate([np.zeros((*heights.shape[:-1], 1)), np.cumsum(heights, axis=-1)], axis=-1)
    start, end = np.arange(count)[:, None], np.arange(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = (sums[..., None, 1:] - sums[..., :-1, None]) / (end - start + 1)
    means = np.where(end >= start, means, np.inf)
    least = np.minimum.accumulate(means[..., ::-1], axis=-1)[..., ::-1]
    return np.asarray(np.where(end >= start, least, -np.inf).max(axis=-2))


def crossings(heights: Floats, target: float) -> Floats:
    """Return where rising curves first reach a target, counted in settings from 0: 1.5 is between the second and third.

    Minus infinity where a curve begins above the target, infinity where it ends below.

    >>> crossings(np.array([[0.0, 0.2, 0.6], [0.5, 0.6, 0.7], [0.0, 0.1, 0.2]]), 0.4).tolist()
    [1.5, -inf, inf]
    """
    reached = heights >= target - _SLACK
    after = np.maximum(reached.argmax(axis=-1), 1)[..., None] if heights.shape[-1] > 1 else None
    if after is None:
        place = np.zeros(heights.shape[:-1])
    else:
        left, right = (np.take_along_axis(heights, number, -1)[..., 0] for number in (after - 1, after))
        step = right - left
        share = np.divide(target - left, step, out=np.zeros_like(step), where=step > 0)
        place = after[..., 0] - 1 + np.clip(share, 0.0, 1.0)
    place = np.where(reached.any(axis=-1), place, np.inf)
    return np.where(heights[..., 0] > target + _SLACK, -np.inf, place)


def value_at(values: Floats, place: float, parameter: str) -> float:
    """Return the value of a parameter at a place between settings; infinite beyond the settings, on the side it is on.

    >>> round(value_at(np.array([1.0, 100.0]), 0.5, "epsilon"), 6), value_at(np.array([200.0, 50.0]), -np.inf, "k")
    (10.0, inf)
    """
    if not np.isfinite(place):
        falling = values[-1] < values[0]
        return float(-place if falling else place)
    if place == int(place):
        return float(values[int(place)])
    logarithmic = parameter in LOGARITHMIC and bool((values > 0).all())
    scale = np.log(values) if logarithmic else values
    between = np.interp(place, np.arange(len(values)), scale)
    return float(np.exp(between) if logarithmic else between)


def _between(curves: Floats, places: Floats) -> Floats:
    """Return the heights of curves, one per row, each at its own place."""
    before = np.minimum(places.astype(np.int64), max(curves.shape[-1] - 2, 0))
    after = np.minimum(before + 1, curves.shape[-1] - 1)
    rows, share = np.arange(len(curves)), places - before
    left, right = curves[rows, before], curves[rows, after]
    return np.asarray(left + share * (right - left))


def _ends(numbers: Floats, level: float) -> tuple[float, float]:
    """Return the quantiles of some numbers, infinite ones among them: two of the numbers themselves."""
    known = np.sort(numbers[~np.isnan(numbers)])
    if not len(known):
        return np.nan, np.nan
    alpha = tail(level)
    return float(known[int(alpha * (len(known) - 1))]), float(known[int(np.ceil((1 - alpha) * (len(known) - 1)))])


def _draws(grid: Grid, replicates: int, seed: Seed) -> tuple[Floats, Floats]:
    """Return the highest mean risk and the mean utility of every setting in every draw of the queries, a row each."""
    rng, count = np.random.default_rng(seed), len(grid.qids)
    chances = np.full(count, 1 / count)
    rivals = grid.risk.rivals if isinstance(grid.risk, HighestSide) else (grid.risk,)
    risks, utilities = [], []
    for start in range(0, replicates, _BLOCK):
        # How often each query is in each draw.
        weights = rng.multinomial(count, chances, size=min(_BLOCK, replicates - start)).astype(np.float64)
        risks.append(np.max([_drawn(rival, weights) for rival in rivals], axis=0))
        utilities.append(_drawn(grid.utility, weights))
    return np.concatenate(risks), np.concatenate(utilities)


def _drawn(side: Side, weights: Floats) -> Floats:
    """Return the means of every draw over the queries that it knows; NaN where it drew none of them."""
    counts = (weights @ side.known.astype(np.float64))[:, None]
    sums = weights @ side.scores
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
