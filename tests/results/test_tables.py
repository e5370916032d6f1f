"""The tables of a result: of one N and of a sweep, and those of earlier versions."""

import pandas as pd
import pytest

from quipukit.errors import FrameError
from quipukit.results.tables import TABLES, tables_of, up_to_date
from tests.example_results import make_result


def test_a_sweep_adds_n_to_every_table_but_the_queries() -> None:
    assert tables_of(sweep=False) is TABLES
    for name, table in tables_of(sweep=True).items():
        assert ("n" in table.columns) == ("n" in table.key) == (name != "queries")
        assert set(table.columns) - {"n"} == set(TABLES[name].columns) - {"n"}


def test_the_same_setting_may_come_once_per_n() -> None:
    notes = pd.DataFrame([(7, "A", "epsilon", 1.0, "q", "oov", 2)], columns=list(TABLES["notes"].columns))
    both = pd.concat([notes.assign(n=n) for n in (1, 5)])
    assert len(tables_of(sweep=True)["notes"].check(both)) == 2
    with pytest.raises(FrameError, match="two rows"):
        TABLES["notes"].check(both)


def test_what_earlier_versions_lack_is_added_and_what_is_there_stays() -> None:
    result = make_result(queries=2, mechanisms=("CMP", "AEA"))
    old = up_to_date("settings", result.settings.drop(columns=["hides_more", "pooled"]))
    assert old["pooled"].isna().all() and set(old["hides_more"]) == {"smaller", "larger"}
    kept = up_to_date("settings", result.settings.assign(hides_more="larger"))
    assert set(kept["hides_more"]) == {"larger"}
    assert set(up_to_date("guesses", result.guesses.drop(columns="attacker"))["attacker"]) == {"QuIA"}
    assert set(up_to_date("guesses", result.guesses.assign(attacker="Mine"))["attacker"]) == {"Mine"}
    assert up_to_date("queries", result.queries) is result.queries
