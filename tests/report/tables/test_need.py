"""The table of need leakage: means of the result, setting by setting."""

from dataclasses import replace

import pandas as pd
import pytest

from quipukit.report import tables
from quipukit.report.views import View, views_of


def test_means_are_those_of_the_result(view: View) -> None:
    table = tables.need(view)
    need = view.result.need
    own = (
        need[(need["mechanism"] == "CMP") & (need["value"] == 15.0)]
        .groupby("guesser")[["leakage", "similarity"]]
        .mean()
    )
    cells = {(row[0].text, row[1].text): row for part in table.row_groups for row in part.rows}["CMP", "epsilon 15"]
    assert table.headings[2:] == ("Consensus", "Guess", "Similarity")
    expected = (own.loc["Consensus", "leakage"], own.loc["Guess", "leakage"], own.loc["Guess", "similarity"])
    assert [cell.text for cell in cells[2:]] == [f"{mean:.3f}" for mean in expected]
    assert "nothing relevant: 1 of the queries" in table.caption
    assert len(table.frame) == 2 * len(view.settings)
    row = view.points[(view.points["mechanism"] == "CMP") & (view.points["value"] == 15.0)].iloc[0]
    assert (row["need_consensus"], row["need_guess"], row["guess_similarity"]) == pytest.approx(expected)


def test_results_of_earlier_versions_have_none(view: View) -> None:
    [old] = views_of([replace(view.result, need=view.result.need.iloc[:0])])
    assert tables.need(old).empty
    assert old.points["need_guess"].isna().all() and len(old.points) == len(view.points)


def test_every_attacker_has_its_columns(view: View) -> None:
    result = view.result
    second = result.need[result.need["guesser"] == "Guess"].assign(attacker="Other", leakage=0.25)
    scores = result.scores[result.scores["side"] == "risk"].assign(attacker="Other")
    both = replace(
        result,
        need=pd.concat([result.need, second], ignore_index=True),
        scores=pd.concat([result.scores, scores], ignore_index=True),
    )
    table = tables.need(views_of([both])[0])
    assert [heading for heading, _ in table.column_groups] == ["", "QuIA", "Other"]
    assert all(row[-2].text == "0.250" for group in table.row_groups for row in group.rows)
