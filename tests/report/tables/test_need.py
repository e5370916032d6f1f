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


def test_of_several_attackers_the_first_and_the_strongest_are_shown(view: View) -> None:
    result = view.result
    more = {"need": result.need[result.need["guesser"] == "Guess"].assign(leakage=0.25)}
    more |= {"ranks": result.ranks, "scores": result.scores[result.scores["side"] == "risk"]}
    frames = {
        name: pd.concat([getattr(result, name), own.assign(attacker="Other")], ignore_index=True)
        for name, own in more.items()
    }
    table = tables.need(views_of([replace(result, **frames)])[0])
    assert [heading for heading, _ in table.column_groups] == ["", "QuIA", "strongest"]
    guessed = [(float(row[3].text), float(row[5].text)) for group in table.row_groups for row in group.rows]
    assert all(strongest == max(quia, 0.25) for quia, strongest in guessed)
    assert {strongest > quia for quia, strongest in guessed} == {True, False}
    assert "Strongest: of all attackers" in table.caption
