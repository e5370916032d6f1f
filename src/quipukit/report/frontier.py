"""The frontier of a view: all settings, at every N, against the strongest attacker."""

import weakref

import pandas as pd

from quipukit.frames import SETTING
from quipukit.measures.frontier import frontier
from quipukit.report.sweep import sweep_frame
from quipukit.report.views import View

_FRAMES: "weakref.WeakKeyDictionary[View, pd.DataFrame]" = weakref.WeakKeyDictionary()  # tables and figures share them


def main_label(view: View) -> str:
    """Return whose risk the frontier is about: the active persona of the strongest attacker, where it was measured."""
    active = [label for label in view.headlines if view.persona(label).startswith("active")]
    return (active or view.headlines)[0]


def frontier_frame(view: View) -> pd.DataFrame:
    """Return the settings of a view with what `quipukit.measures.frontier.frontier` adds; none without utility.

    Also: strategy, n (variants asked for) and variants (sent, in the mean). A sweep gives a row for every N.
    """
    if view not in _FRAMES:
        _FRAMES[view] = _frame(view)
    return _FRAMES[view]


def named_settings(frame: pd.DataFrame) -> list[tuple[int, str]]:
    """Return the rows of `frontier_frame` that figures name, and how: members first, each kind by risk.

    Named are the members, the settings that would be members but pool too much, and the references, once.
    """
    last = frame["n"] == frame["n"].max()
    chosen = frame[frame["frontier"] | frame["would_be"] | (frame["reference"] & last)]
    ordered = chosen.sort_values(["reference", "frontier", "risk"], ascending=[True, False, True], kind="stable")
    texts = ordered["name"].mask(ordered["reference"], ordered["mechanism"])
    return [(int(row), str(text)) for row, text in zip(ordered.index, texts, strict=True)]


def _frame(view: View) -> pd.DataFrame:
    if not view.judged:
        return pd.DataFrame()
    points = view.points if view.sweep is None else sweep_frame(view)
    own = points[points["label"] == main_label(view)]
    facts = view.whole.settings[[*SETTING, "n", "strategy", "variants"]]
    keys = [*SETTING, *(["n"] if "n" in own else [])]
    return frontier(own.merge(facts, on=keys, how="left", validate="1:1"), view.references)
