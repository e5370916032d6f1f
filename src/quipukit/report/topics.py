"""The topics of a view: what is learned about the need, by the kind of query."""

import weakref

import pandas as pd

from quipukit.collections.kinds import query_kinds
from quipukit.measures.need_kinds import COLUMNS, need_by_kind
from quipukit.report.views import View

_FRAMES: "weakref.WeakKeyDictionary[View, pd.DataFrame]" = weakref.WeakKeyDictionary()


def topics_frame(view: View) -> pd.DataFrame:
    """Return the need leakage by kind (`need_by_kind`); no row where need or kinds are not known, or one kind only."""
    if view not in _FRAMES:
        _FRAMES[view] = _frame(view)
    return _FRAMES[view]


def _frame(view: View) -> pd.DataFrame:
    need = view.result.need
    kinds = query_kinds(view.result.name, view.result.queries) if view.judged and len(need) else {}
    table = need_by_kind(need[need["system"] == view.system], kinds) if kinds else pd.DataFrame(columns=list(COLUMNS))
    return table if table["kind"].nunique() > 1 else table.iloc[:0]
