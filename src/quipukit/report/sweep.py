"""A sweep over N: risk and utility of every setting at every number of variants per query."""

import math
import weakref
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from quipukit.frames import SETTING
from quipukit.report.radar import chosen_settings
from quipukit.report.views import View

_FRAMES: "weakref.WeakKeyDictionary[View, pd.DataFrame]" = weakref.WeakKeyDictionary()  # tables and figures share them


def sweep_frame(view: View) -> pd.DataFrame:
    """Return the points of every N, one below the other: column ``n``, then those of `View.points`.

    The order is that of the settings, within a setting that of N. No row where the experiment did not sweep over N.
    """
    if view not in _FRAMES:
        _FRAMES[view] = _frame(view)
    return _FRAMES[view]


def _frame(view: View) -> pd.DataFrame:
    if view.sweep is None:
        return view.points.iloc[:0].assign(n=0)
    parts = []
    for n in view.sweep.ns:
        points = replace(view, result=view.sweep.at(n), sweep=None).points.copy()
        points.insert(0, "n", n)
        parts.append(points)
    together = pd.concat(parts, ignore_index=True)
    places = {tuple(row): place for place, row in enumerate(view.settings[list(SETTING)].to_numpy())}
    order = [places.get(tuple(row), len(places)) for row in together[list(SETTING)].to_numpy()]
    return together.iloc[pd.Series(order).sort_values(kind="stable").index].reset_index(drop=True)


def chosen_curves(view: View, frame: pd.DataFrame, mechanism: str, label: str) -> list[pd.DataFrame]:
    """Return the rows over N of the few settings of a mechanism that a figure shows, from most to least private."""
    settings = view.settings[view.settings["mechanism"] == mechanism]
    rows = frame[(frame["mechanism"] == mechanism) & (frame["label"] == label)]
    return [rows[rows["value"] == value] for value in chosen_settings(settings)["value"]]


def log_places(ns: Sequence[int]) -> list[float]:
    """Return where every N stands on a logarithmic axis from 0 to 1.

    >>> log_places([1, 10, 100])
    [0.0, 0.5, 1.0]
    """
    width = math.log(ns[-1] / ns[0])
    return [math.log(n / ns[0]) / width for n in ns]
