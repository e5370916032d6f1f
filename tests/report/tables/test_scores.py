"""Table 1: its numbers against numbers computed another way, its marks, and its gaps."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.measures.bootstrap import compare
from quipukit.measures.quipu import quipu_table
from quipukit.report import narrative, tables
from quipukit.report.table_model import DASH
from quipukit.report.views import View, views_of
from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.results import (
    by_name,
    curve_by_hand,
    narrow_result,
    only,
    renamed,
    shoelace,
    two_attackers,
)


@pytest.mark.parametrize(("place", "risk"), [(0, "P@1"), (2, "R@10"), (4, "RR")])
def test_table_1_holds_the_scores(view: View, place: int, risk: str) -> None:
    rows = by_name(tables.table_1([view]))
    assert list(rows) == view.mechanisms
    for name, cells in rows.items():
        expected = shoelace(curve_by_hand(view.result.scores, name, risk, "nDCG@10"))
        assert float(cells[place].text) == pytest.approx(expected, abs=0.0005 + 1e-9)


def test_intervals_are_those_of_the_result(view: View) -> None:
    frame = tables.table_1([view]).frame
    known = view.result.quipu()
    known = known[known["mechanism"].isin(view.mechanisms)]
    for column in ("quipu", "low", "high"):
        np.testing.assert_array_equal(frame[column].to_numpy(), known[column].to_numpy())


def test_the_best_is_bold_and_marks_follow_the_paired_bootstrap(view: View) -> None:
    result = view.result
    utilities = result.utilities()
    differences = compare(
        result.risks(), utilities[utilities["measure"] == "nDCG@10"], mechanisms=view.mechanisms, replicates=3000
    )
    rows = by_name(tables.table_1([view]))
    for number, who in enumerate(view.labels):
        place = 2 * number
        scores = {name: float(cells[place].text) for name, cells in rows.items()}
        bold = [name for name, cells in rows.items() if cells[place].bold]
        ranked = [name for name, cells in rows.items() if tables.NOT_RANKED not in cells[place].marks]
        assert bold == [max(ranked, key=lambda name: scores[name])]
        for row in differences[differences["persona"] == who].itertuples():
            if bold[0] in (row.first, row.second):
                other = row.second if bold[0] == row.first else row.first
                # Nearer to the border the number of replicates decides; what is not ranked is not worse either.
                if other in ranked and not 0.03 < row.p_holm < 0.07:
                    assert (tables.WORSE in rows[other][place].marks) == (row.p_holm < 0.05)


def test_spread_over_seeds() -> None:
    result = make_result(seeds=(1, 2, 3), mechanisms=("CMP", "AEA", "Identity"))
    table = tables.table_1(views_of([result]))
    assert "single noise seed" in table.caption and "--seeds" not in table.caption
    each = [
        shoelace(curve_by_hand(result.scores[result.scores["seed"] == seed], "CMP", "P@1", "nDCG@10"))
        for seed in result.seeds
    ]
    assert by_name(table)["CMP"][0].small[1] == f"{{{min(each):.3f} to {max(each):.3f}}}"


def test_one_seed_says_how_to_get_more(view: View) -> None:
    table = tables.table_1([view])
    assert "--seeds 3" in table.caption
    assert all(len(cell.small) == 1 for row in by_name(table).values() for cell in row)  # QuIPU's and the volume's


def test_a_column_block_for_every_collection_and_system() -> None:
    systems = ("bm25 + minilm", "dense + bm25")
    first = make_result(name="first", systems=systems, mechanisms=("CMP", "TEM", "Identity"))
    second = make_result(name="second", mechanisms=("CMP", "Identity"))
    table = tables.table_1(views_of([first, second]))
    assert table.column_groups == (("first, bm25 + minilm", 6), ("first, dense + bm25", 6), ("second", 6))
    rows = by_name(table)
    assert all(len(row) == 18 for row in rows.values())
    assert [cell.text for cell in rows["TEM"][12:]] == [DASH] * 6
    assert DASH not in [cell.text for cell in rows["CMP"]]
    assert rows["CMP"][0].text != rows["CMP"][6].text


def test_a_single_point_is_flagged_and_not_ranked() -> None:
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0,), "Identity": (0.0,)})
    table = tables.table_1(views_of([result]))
    for cell in by_name(table)["AEA"][::2]:
        assert cell.text == "0.000" and tables.SINGLE in cell.marks
        assert not cell.bold and tables.WORSE not in cell.marks
    assert "single point" in table.caption
    assert all(cell.bold for cell in by_name(table)["CMP"][::2])


def test_a_narrow_curve_is_never_called_best(tmp_path: Path) -> None:
    """AEA's levels span a few per cent of the diagonal and score above CMP here; no output may star or praise it."""
    result = narrow_result()
    (view,) = views_of([result])
    scores = view.scores.set_index(["mechanism", "label"])
    for who in view.labels:
        narrow, wide = scores.loc[("AEA", who)], scores.loc[("CMP", who)]
        assert narrow["length"] < 0.1 < wide["length"] and narrow["quipu"] > wide["quipu"]
        assert not narrow["rankable"] and not narrow["best"] and not narrow["worse"] and np.isnan(narrow["p_holm"])
        assert wide["best"]
    pairs = view.comparisons
    assert set(pairs.loc[(pairs["first"] == "AEA") | (pairs["second"] == "AEA"), "score"]) == {"hypervolume"}
    table = tables.table_1([view])
    assert not any(cell.bold for cell in by_name(table)["AEA"][::2])
    assert all(tables.NOT_RANKED in cell.marks for cell in by_name(table)["AEA"][::2])
    assert "less than 10 % of the diagonal" in table.caption
    for finding in narrative.findings(view):
        by_quipu, by_volume = finding.leaders
        assert by_quipu.best == "CMP" and by_quipu.by == "QuIPU" and by_volume.by == "hypervolume"
        assert "AEA" not in by_quipu.rivals and "Not ranked: AEA" in by_quipu.caution
        # AEA's volume is the largest, so no other may be called best either.
        assert by_volume.best == "none" and "The largest is AEA's" in by_volume.caution
    companions = by_name(tables.companions(view))
    assert not any(cell.bold for cell in [*by_name(table)["AEA"], *companions["AEA"]])
    write_report([result], tmp_path, formats=())
    for row in csv.DictReader((tmp_path / "tables" / "table1.csv").read_text(encoding="utf-8").splitlines()):
        assert not (row["mechanism"] == "AEA" and "True" in (row["best"], row["worse"], row["hypervolume_best"]))
    lines = [line for line in (tmp_path / "tables" / "table1.tex").read_text().splitlines() if line.startswith("AEA")]
    assert len(lines) == 1 and "textbf" not in lines[0] and r"\diamond" in lines[0]


def test_a_plugin_whose_larger_values_hide_more_is_not_the_best_for_it(tmp_path: Path) -> None:
    """Its points lie below the diagonal; read in order of the parameter they would score as if they lay above it."""
    result = renamed(only(narrow_result(), {"CMP": (1.0, 10.0, 50.0), "Identity": (0.0,)}), {"CMP": "Mine"})
    turned = {
        name: getattr(result, name).assign(value=-getattr(result, name)["value"])
        for name in ("settings", "obfuscated", "ranks", "scores", "guesses")
    }
    settings = turned["settings"].assign(hides_more="larger")
    both = only(make_result(), {"TEM": (1.0, 2.0, 5.0)})
    joined = {
        name: pd.concat([turned.get(name, getattr(result, name)), getattr(both, name)], ignore_index=True)
        for name in ("obfuscated", "ranks", "scores", "guesses", "notes")
    }
    joined["settings"] = pd.concat([settings, both.settings], ignore_index=True)
    (view,) = views_of([replace(result, **joined)])
    own = view.scores[view.scores["mechanism"] == "Mine"]
    assert (own["quipu"] < 0).all() and own["rankable"].all() and not own["best"].any()
    assert view.curve("Mine", "lazy")["value"].tolist() == [-1, -10, -50]
    # As if nothing had been declared: the defect that this is about.
    joined["settings"] = joined["settings"].assign(hides_more="smaller")
    (wrong,) = views_of([replace(result, **joined)])
    own = wrong.scores[wrong.scores["mechanism"] == "Mine"]
    assert (own["quipu"] > 0).all() and (own["unranked"] == "runs backwards").all()
    assert not own[["best", "hypervolume_best", "worse", "rankable"]].any(axis=None)
    table = tables.table_1([wrong])
    assert not any(cell.bold for cell in by_name(table)["Mine"]) and "declare hides_more" in table.caption
    assert all(tables.BACKWARD in cell.marks for cell in by_name(table)["Mine"][::2])
    for finding in narrative.findings(wrong):
        assert all(leader.best != "Mine" for leader in finding.leaders)
        assert "Mine (runs backwards)" in finding.leaders[0].caution
        assert "declare hides_more" in finding.leaders[0].caution


def test_the_hypervolume_stands_beside_the_score_with_an_interval(view: View) -> None:
    table = tables.table_1([view])
    assert table.headings[1:] == tuple(f"{who} {score}" for who in view.labels for score in ("QuIPU", "HV"))
    frame = table.frame
    within = frame["hypervolume"].between(frame["hypervolume_low"], frame["hypervolume_high"])
    assert within[frame["hypervolume_low"].notna()].all() and within.sum() > 12
    assert frame.loc[~within, "mechanism"].isin(["AEA", "FEA"]).all(), "next to no query of theirs is found"
    for place, who in enumerate(view.labels):
        volumes = frame[frame["persona"] == who].set_index("mechanism")["hypervolume"]
        cells = {name: cells[2 * place + 1] for name, cells in by_name(table).items()}
        assert [name for name, cell in cells.items() if cell.bold] == [volumes.idxmax()]
        assert all(float(cells[name].text) == pytest.approx(volumes[name], abs=0.0005 + 1e-9) for name in cells)
        known = quipu_table(view.result.points().query("measure == 'nDCG@10'")).set_index(["mechanism", "persona"])
        assert all(volumes[name] == pytest.approx(known.loc[(name, who), "hypervolume"]) for name in volumes.index)


def test_another_measure() -> None:
    table = tables.table_1(views_of([make_result()], "SetR"))
    assert set(table.frame["measure"]) == {"SetR"}
    with pytest.raises(InputError, match="has no measure 'P@5'; it has nDCG@10, SetR"):
        views_of([make_result()], "P@5")


def test_columns_of_two_attackers(view: View) -> None:
    table = tables.table_1(views_of([two_attackers(view.result)]))
    assert len(table.headings) == 1 + 2 * 2 * 3 and {"QuIA lazy QuIPU", "strongest motivated HV"} <= set(table.headings)
    assert tables.table_1([view]).headings[1:3] == ("lazy QuIPU", "lazy HV")
    pairs = set(zip(table.frame["attacker"], table.frame["persona"], strict=True))
    assert ("strongest", "active") in pairs and "label" not in table.frame
