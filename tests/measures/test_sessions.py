"""Risk against the length of a session."""

import pandas as pd
import pytest

from quipukit.frames import SESSION_RANKS
from quipukit.measures.sessions import session_risk


def test_means_are_by_length_and_have_intervals() -> None:
    rows = [
        ("M", "", 0.0, "Session", sid, float(better + 1), better, 0, length)
        for length, places in ((1, (30, 40)), (3, (0, 40)))
        for sid, better in zip("st", places, strict=True)
    ]
    means = session_risk(pd.DataFrame(rows, columns=list(SESSION_RANKS.columns)))
    own = means[means["measure"] == "R@10"].set_index("length")
    assert own["risk"].tolist() == [0.0, 0.5]
    assert (own["low"] <= own["risk"]).all() and (own["high"] >= own["risk"]).all()
    assert own.loc[1, "high"] == pytest.approx(0.842, abs=0.01)  # none of two, 95 %
