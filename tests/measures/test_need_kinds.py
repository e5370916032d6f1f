"""Need leakage by kind: means by hand, the larger guesser, and which kinds have none."""

import numpy as np
import pandas as pd
import pytest

from quipukit.measures.need_kinds import need_by_kind

KINDS = {"1": "health", "2": "health", "3": "law", "4": "money"}


def rows(value: float, guesser: str, attacker: str, *leakages: float) -> pd.DataFrame:
    own = {"mechanism": "A", "parameter": "epsilon", "value": value, "guesser": guesser, "attacker": attacker}
    return pd.DataFrame({"qid": [str(n + 1) for n in range(len(leakages))], "leakage": leakages}).assign(
        **own, similarity=np.nan
    )


def test_the_larger_of_consensus_and_the_strongest_guess() -> None:
    need = pd.concat(
        [
            rows(1.0, "Consensus", "", 0.2, 0.4, 0.1, np.nan),
            rows(1.0, "Guess", "QuIA", 0.0, 0.4, 0.9, np.nan),
            rows(1.0, "Guess", "Words", 0.6, 0.6, 0.3, np.nan),
        ]
    )
    table = need_by_kind(need, KINDS).set_index("kind")
    assert table["leakage"].to_dict() == {"law": pytest.approx(0.9), "health": pytest.approx(0.6)}
    assert list(table.index) == ["law", "health"], "the most exposed first; money has nothing that counts"
    assert table["queries"].to_dict() == {"law": 1, "health": 2}
    assert (table["low"] <= table["leakage"]).all() and (table["leakage"] <= table["high"]).all()


def test_intervals_allow_for_the_choice() -> None:
    alone = rows(1.0, "Consensus", "", *np.linspace(0, 1, 20))
    kinds = {str(number + 1): "health" for number in range(20)}
    wide, wider = (need_by_kind(alone, kinds, level).iloc[0] for level in (0.8, 0.95))
    assert wider["high"] - wider["low"] > wide["high"] - wide["low"]


def test_without_kinds_there_is_no_row() -> None:
    need = rows(1.0, "Consensus", "", 0.2, 0.4)
    assert need_by_kind(need, {}).empty and list(need_by_kind(need, {}).columns)[:3] == [
        "mechanism",
        "parameter",
        "value",
    ]
    assert need_by_kind(need, {"1": "health"})["queries"].tolist() == [1]
