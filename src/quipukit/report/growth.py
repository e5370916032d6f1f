"""Risk against the number of variants seen: the curves of a view, and what they show in a sentence."""

import weakref
from collections.abc import Mapping
from typing import Any

import pandas as pd

from quipukit.frames import SETTING
from quipukit.measures.growth import risk_growth
from quipukit.measures.risk import persona_of
from quipukit.measures.strongest import STRONGEST
from quipukit.report.attacker_gaps import main_measure
from quipukit.report.table_model import percent
from quipukit.report.views import View
from quipukit.results import Result
from quipukit.settings import setting_name

_RISE = 0.005  # a rise that is not shown as 0 %
_NEARLY_ALL = 0.95
_FRAMES: "weakref.WeakKeyDictionary[Result, pd.DataFrame]" = (
    weakref.WeakKeyDictionary()
)  # tables and figures share them


def growth_frame(view: View) -> pd.DataFrame:
    """Return the risks after each number of variants, by all attackers and the strongest; see `risk_growth`.

    With a column ``persona``; settings are in the order of the view, from most to least private.
    """
    if view.result not in _FRAMES:
        _FRAMES[view.result] = _frame(view)
    return _FRAMES[view.result]


def _frame(view: View) -> pd.DataFrame:
    frame = risk_growth(view.result.growth, int(view.result.manifest.get("k", 10)))
    frame.insert(frame.columns.get_loc("measure"), "persona", frame["measure"].map(persona_of))
    places = {key: place for place, key in enumerate(view.settings[list(SETTING)].itertuples(index=False, name=None))}
    order = [places.get(key, len(places)) for key in frame[list(SETTING)].itertuples(index=False, name=None)]
    return frame.iloc[pd.Series(order, dtype="int64").sort_values(kind="stable").index].reset_index(drop=True)


def growth_curves(view: View, frame: pd.DataFrame, mechanism: str, measure: str) -> list[dict[str, pd.DataFrame]]:
    """Return for every setting of a mechanism the curves of the attackers that the report shows, by name."""
    rows = frame[(frame["mechanism"] == mechanism) & (frame["measure"] == measure)]
    return [
        {name: own[own["attacker"] == name].reset_index(drop=True) for name in view.attackers}
        for _, own in rows.groupby("value", sort=False)
    ]


def grown_mechanisms(view: View, frame: pd.DataFrame) -> list[str]:
    """Return the mechanisms that have curves, in the order of the view."""
    return [name for name in view.mechanisms if name in set(frame["mechanism"])]


def growth_sentence(view: View, frame: pd.DataFrame) -> str:
    """Say where risk rises most with what was seen, against the strongest attacker."""
    measure = main_measure(view)
    attacker = view.attackers[-1]
    own = frame[(frame["measure"] == measure) & (frame["attacker"] == attacker)]
    curves = [curve for _, curve in own.groupby(list(SETTING), sort=False)]
    if not curves:
        return ""
    who = "the strongest attacker" if attacker == STRONGEST else attacker
    reads = {"lazy": "one guess", "active": "ten guesses"}.get(persona_of(measure), measure)
    shown = "the setting shown" if len(curves) == 1 else f"the {len(curves)} settings shown"
    steepest = max(curves, key=_rise)
    if _rise(steepest) < _RISE:
        enough = sum(curve["risk"].iloc[0] >= _NEARLY_ALL for curve in curves)
        already = f"; at {enough} of them it finds {percent(_NEARLY_ALL)} or more from one already" if enough else ""
        return f"At none of {shown} does {who} find more with {reads} from all variants than from one{already}."
    first, last = (steepest.iloc[place] for place in (0, -1))
    where = setting_name(str(first["mechanism"]), str(first["parameter"]), float(first["value"]))
    most = "" if len(curves) == 1 else f" Of {shown} this is the steepest rise."
    return (
        f"At {where} {who} finds {_found(first)} of the queries with {reads} from one variant, and {_found(last)} from "
        f"{last['seen']} (in brackets 95 % intervals).{most}"
    )


def _rise(curve: pd.DataFrame) -> float:
    return float(curve["risk"].iloc[-1] - curve["risk"].iloc[0])


def _found(point: Mapping[str, Any]) -> str:
    ends = f"{100 * point['low']:.0f} to {100 * point['high']:.0f}"
    return f"{percent(point['risk'])} ({ends})"
