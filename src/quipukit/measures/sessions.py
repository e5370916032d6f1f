"""Risk against the length of a session: means with intervals for every setting, by the number of queries seen."""

import pandas as pd

from quipukit.frames import SESSION_RANKS
from quipukit.measures.growth import risk_growth


def session_risk(ranks: pd.DataFrame, k: int = 10) -> pd.DataFrame:
    """Return the mean risk of sessions' last queries after each number of queries seen.

    ``ranks`` comes from `quipukit.session_attack`. Columns: setting, measure (P@1, R@k, RR), attacker, length, risk,
    low, high, found_by; see `risk_growth`. The intervals are over sessions, one point at a time.
    """
    checked = SESSION_RANKS.check(ranks[list(SESSION_RANKS.columns)])
    curves = risk_growth(checked.rename(columns={"sid": "qid", "length": "seen"}), k)
    return curves.rename(columns={"seen": "length"})
