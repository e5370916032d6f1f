"""The tables: their numbers against numbers computed another way, their marks, and their gaps."""

import csv
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quipukit.cli.report import print_report
from quipukit.errors import InputError
from quipukit.measures.bootstrap import compare
from quipukit.measures.intervals import mean_intervals
from quipukit.measures.quipu import quipu_table
from quipukit.report import narrative, tables
from quipukit.report.table_model import DASH, Cell, Sheet
from quipukit.report.views import Block, blocks_of
from quipukit.report.write import Report, write_report
from quipukit.results import Result
from tests.example_results import make_result
from tests.report.results import only, renamed


def by_name(sheet: Sheet) -> dict[str, tuple[Cell, ...]]:
    return {row[0].text: row[1:] for section in sheet.sections for row in section.rows}


def curve_by_hand(scores: pd.DataFrame, mechanism: str, risk: str, measure: str) -> list[tuple[float, float]]:
    rows = scores[scores["mechanism"] == mechanism]
    means = rows.groupby(["value", "side", "measure"])["score"].mean()
    # AEA hides more at larger levels; a curve begins where most is hidden.
    values = sorted(rows["value"].unique(), reverse=mechanism == "AEA")
    return [(means[value, "risk", risk], means[value, "utility", measure]) for value in values]


def shoelace(curve: list[tuple[float, float]]) -> float:
    """The closed form of the score: another formula than the one in the library."""
    total = sum(u * next_r - r * next_u for (r, u), (next_r, next_u) in itertools.pairwise(curve))
    (r_1, u_1), (r_m, u_m) = curve[0], curve[-1]
    return total + ((u_m**2 - r_m**2) - (u_1**2 - r_1**2)) / 2


@pytest.fixture(scope="module")
def block() -> Block:
    return blocks_of([make_result()])[0]


@pytest.mark.parametrize(("place", "risk"), [(0, "P@1"), (2, "R@10"), (4, "RR")])
def test_table_1_holds_the_scores(block: Block, place: int, risk: str) -> None:
    rows = by_name(tables.table_1([block]))
    assert list(rows) == block.mechanisms
    for name, cells in rows.items():
        expected = shoelace(curve_by_hand(block.result.scores, name, risk, "nDCG@10"))
        assert float(cells[place].text) == pytest.approx(expected, abs=0.0005 + 1e-9)


def test_intervals_are_those_of_the_result(block: Block) -> None:
    frame = tables.table_1([block]).frame
    known = block.result.quipu()
    known = known[known["mechanism"].isin(block.mechanisms)]
    for column in ("quipu", "low", "high"):
        np.testing.assert_array_equal(frame[column].to_numpy(), known[column].to_numpy())


def test_the_best_is_bold_and_marks_follow_the_paired_bootstrap(block: Block) -> None:
    result = block.result
    utilities = result.utilities()
    differences = compare(
        result.risks(), utilities[utilities["measure"] == "nDCG@10"], mechanisms=block.mechanisms, replicates=3000
    )
    rows = by_name(tables.table_1([block]))
    for number, who in enumerate(block.attackers):
        place = 2 * number
        scores = {name: float(cells[place].text) for name, cells in rows.items()}
        bold = [name for name, cells in rows.items() if cells[place].bold]
        ranked = [name for name, cells in rows.items() if tables.NOT_RANKED not in cells[place].marks]
        assert bold == [max(ranked, key=lambda name: scores[name])]
        for row in differences[differences["attacker"] == who].itertuples():
            if bold[0] in (row.first, row.second):
                other = row.second if bold[0] == row.first else row.first
                # Nearer to the border the number of replicates decides; what is not ranked is not worse either.
                if other in ranked and not 0.03 < row.p_holm < 0.07:
                    assert (tables.WORSE in rows[other][place].marks) == (row.p_holm < 0.05)


def test_references_stand_apart(block: Block) -> None:
    assert not {"Identity", "Random"} & set(by_name(tables.table_1([block])))
    rows = by_name(tables.references([block]))
    scores = block.result.scores
    for name in ("Identity", "Random"):
        own = scores[(scores["mechanism"] == name) & (scores["side"] != "ceiling")].groupby("measure")["score"].mean()
        expected = [own[measure] for measure in ("nDCG@10", "P@1", "R@10", "RR")]
        assert [float(cell.text) for cell in rows[name]] == pytest.approx(expected, abs=0.0005 + 1e-9)


def test_spread_over_seeds() -> None:
    result = make_result(seeds=(1, 2, 3))
    sheet = tables.table_1(blocks_of([result]))
    assert "single noise seed" in sheet.caption and "--seeds" not in sheet.caption
    each = [
        shoelace(curve_by_hand(result.scores[result.scores["seed"] == seed], "CMP", "P@1", "nDCG@10"))
        for seed in result.seeds
    ]
    assert by_name(sheet)["CMP"][0].small[1] == f"{{{min(each):.3f} to {max(each):.3f}}}"


def test_one_seed_says_how_to_get_more(block: Block) -> None:
    sheet = tables.table_1([block])
    assert "--seeds 3" in sheet.caption
    assert all(len(cell.small) == 1 for row in by_name(sheet).values() for cell in row)  # QuIPU's and the volume's


def test_a_column_block_for_every_collection_and_system() -> None:
    first = make_result(name="first", systems=("bm25 + minilm", "dense + bm25"))
    second = make_result(name="second", mechanisms=("CMP", "Identity"))
    sheet = tables.table_1(blocks_of([first, second]))
    assert sheet.groups == (("first, bm25 + minilm", 6), ("first, dense + bm25", 6), ("second", 6))
    rows = by_name(sheet)
    assert all(len(row) == 18 for row in rows.values())
    assert [cell.text for cell in rows["TEM"][12:]] == [DASH] * 6
    assert DASH not in [cell.text for cell in rows["CMP"]]
    assert rows["CMP"][0].text != rows["CMP"][6].text


def test_results_of_one_name_are_told_apart_by_what_differs() -> None:
    twice = [make_result(), make_result(queries=8)]
    assert [block.name for block in blocks_of(twice)] == ["example (queries 12)", "example (queries 8)"]
    folders = ["runs/first", "runs/second"]
    assert [block.name for block in blocks_of(twice, runs=folders)] == ["example (first)", "example (second)"]
    alike = [make_result(), make_result(shift=0.1)]
    names = [block.name for block in blocks_of(alike)]
    assert names == [f"example ({result.digest[:8]})" for result in alike]
    assert [block.name for block in blocks_of([alike[0], alike[0]])] == ["example (1)", "example (2)"]
    assert [block.name for block in blocks_of([make_result(), make_result(name="other")])] == ["example", "other"]


def test_a_single_point_is_flagged_and_not_ranked() -> None:
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0,), "Identity": (0.0,)})
    sheet = tables.table_1(blocks_of([result]))
    for cell in by_name(sheet)["AEA"][::2]:
        assert cell.text == "0.000" and tables.SINGLE in cell.marks
        assert not cell.bold and tables.WORSE not in cell.marks
    assert "single point" in sheet.caption
    assert all(cell.bold for cell in by_name(sheet)["CMP"][::2])


def test_a_narrow_curve_is_never_called_best(tmp_path: Path) -> None:
    """AEA's levels span a few per cent of the diagonal and score above CMP here; no output may star or praise it."""
    result = narrow_result()
    (block,) = blocks_of([result])
    scores = block.scores.set_index(["mechanism", "attacker"])
    for who in block.attackers:
        narrow, wide = scores.loc[("AEA", who)], scores.loc[("CMP", who)]
        assert narrow["length"] < 0.1 < wide["length"] and narrow["quipu"] > wide["quipu"]
        assert not narrow["rankable"] and not narrow["best"] and not narrow["worse"] and np.isnan(narrow["p_holm"])
        assert wide["best"]
    pairs = block.comparisons
    assert set(pairs.loc[(pairs["first"] == "AEA") | (pairs["second"] == "AEA"), "score"]) == {"hypervolume"}
    sheet = tables.table_1([block])
    assert not any(cell.bold for cell in by_name(sheet)["AEA"][::2])
    assert all(tables.NOT_RANKED in cell.marks for cell in by_name(sheet)["AEA"][::2])
    assert "less than 10 % of the diagonal" in sheet.caption
    for finding in narrative.findings(block):
        by_quipu, by_volume = finding.leaders
        assert by_quipu.best == "CMP" and by_quipu.by == "QuIPU" and by_volume.by == "hypervolume"
        assert "AEA" not in by_quipu.rivals and "Not ranked: AEA" in by_quipu.caution
        # AEA's volume is the largest, so no other may be called best either.
        assert by_volume.best == "none" and "The largest is AEA's" in by_volume.caution
    companions = by_name(tables.companions(block))
    assert not any(cell.bold for cell in [*by_name(sheet)["AEA"], *companions["AEA"]])
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
    (block,) = blocks_of([replace(result, **joined)])
    own = block.scores[block.scores["mechanism"] == "Mine"]
    assert (own["quipu"] < 0).all() and own["rankable"].all() and not own["best"].any()
    assert block.curve("Mine", "lazy")["value"].tolist() == [-1, -10, -50]
    # As if nothing had been declared: the defect that this is about.
    joined["settings"] = joined["settings"].assign(hides_more="smaller")
    (wrong,) = blocks_of([replace(result, **joined)])
    own = wrong.scores[wrong.scores["mechanism"] == "Mine"]
    assert (own["quipu"] > 0).all() and (own["unranked"] == "runs backwards").all()
    assert not own[["best", "hypervolume_best", "worse", "rankable"]].any(axis=None)
    sheet = tables.table_1([wrong])
    assert not any(cell.bold for cell in by_name(sheet)["Mine"]) and "declare hides_more" in sheet.caption
    assert all(tables.TURNED in cell.marks for cell in by_name(sheet)["Mine"][::2])
    for finding in narrative.findings(wrong):
        assert all(leader.best != "Mine" for leader in finding.leaders)
        assert "Mine (runs backwards)" in finding.leaders[0].caution
        assert "declare hides_more" in finding.leaders[0].caution


def without_originals(result: Result, held: int = 0) -> Result:
    """Return the result of a log that holds so many of the originals and was not completed with them."""
    known = result.queries["qid"].head(held)
    ranks = result.ranks.assign(better=result.ranks["better"].where(result.ranks["qid"].isin(known), -1))
    lost = (result.scores["side"] == "risk") & ~result.scores["qid"].isin(known)
    scores = result.scores.assign(score=result.scores["score"].mask(lost, 0.0))
    manifest = {**result.manifest, "log": {**result.manifest["log"], "inject": False, "in_log": held}}
    return replace(result, ranks=ranks, scores=scores, manifest=manifest)


def test_where_the_log_holds_no_original_nothing_is_best_and_every_output_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = without_originals(make_result(25, mechanisms=("CMP", "TEM", "Identity")))
    (block,) = blocks_of([result])
    assert not block.scores[["best", "hypervolume_best", "worse", "hypervolume_worse", "rankable"]].any(axis=None)
    for sheet in (tables.table_1([block]), tables.companions(block), tables.radar(block)):
        assert not any(cell.bold for section in sheet.sections for row in section.rows for cell in row), sheet.name
    told = "the attacker's log holds none of the 25 originals and was not completed, so no risk can exceed 0.000"
    for finding in narrative.findings(block):
        assert all(leader.best == "none" and told[1:] in leader.caution for leader in finding.leaders)
    made = Report([result])
    made.write(tmp_path, formats=())
    print_report(made)
    printed = " ".join(capsys.readouterr().out.split())
    assert told in printed and "*0." not in printed and "*1." not in printed
    assert "log holds none of the 25 originals" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "none of the 25 originals" in (tmp_path / "tables" / "table1.tex").read_text(encoding="utf-8")


def test_a_log_with_some_of_the_originals_is_a_ceiling_that_the_terminal_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = make_result(25, mechanisms=("CMP", "TEM", "Identity"))
    for held, told in ((10, True), (25, False)):
        print_report(Report([without_originals(result, held)]))
        printed = " ".join(capsys.readouterr().out.split())
        assert ("holds 10 of the 25 originals" in printed and "no risk can exceed 0.400" in printed) is told
        assert "*" in printed, "some may be ranked all the same"


@pytest.mark.parametrize(("queries", "told"), [(19, True), (20, False)])
def test_the_terminal_warns_of_few_queries(queries: int, told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    print_report(Report([make_result(queries, mechanisms=("CMP", "Identity"))]))
    assert (f"{queries} queries are very few" in " ".join(capsys.readouterr().out.split())) is told


def test_the_triangle_of_a_narrow_curve_is_not_bold() -> None:
    result = narrow_result()
    settings = result.settings.assign(sentence_similarity=1 - 0.9 * (result.settings["mechanism"] == "AEA"))
    (block,) = blocks_of([replace(result, settings=settings)])
    sheet = tables.radar(block)
    areas = sheet.frame.groupby("mechanism")["area"].max()
    assert areas["AEA"] > areas["CMP"]
    assert not any(cell.bold for section in sheet.sections for row in section.rows for cell in row)


def test_where_no_curve_can_be_ranked_none_is_best() -> None:
    (block,) = blocks_of([only(narrow_result(), {"AEA": (3.0, 4.0, 5.0), "Identity": (0.0,)})])
    assert not block.scores["best"].any()
    assert narrative.findings(block)[0].leaders[0].best == "none"
    assert "spans less than" in narrative.findings(block)[0].leaders[0].caution
    assert narrative.findings(block)[0].leaders[1].best == "none"


def narrow_result() -> Result:
    """A result in which AEA hides all and finds the same at every level, and CMP lies below the diagonal."""
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0, 4.0, 5.0), "Identity": (0.0,)})
    scores = result.scores.copy()
    aea, risk = scores["mechanism"] == "AEA", scores["side"] == "risk"
    scores.loc[aea & risk, "score"] = 0.0
    scores.loc[aea & ~risk, "score"] = 0.5 - 0.02 * scores.loc[aea & ~risk, "value"]
    wide = scores["mechanism"] == "CMP"
    scores.loc[wide & risk, "score"] = np.minimum(1.0, scores.loc[wide & risk, "value"] / 20)
    scores.loc[wide & ~risk, "score"] = np.minimum(0.6, scores.loc[wide & ~risk, "value"] / 100)
    return replace(result, scores=scores)


def test_the_hypervolume_stands_beside_the_score_with_an_interval(block: Block) -> None:
    sheet = tables.table_1([block])
    assert sheet.headings[1:] == tuple(f"{who} {score}" for who in block.attackers for score in ("QuIPU", "HV"))
    frame = sheet.frame
    within = frame["hypervolume"].between(frame["hypervolume_low"], frame["hypervolume_high"])
    assert within[frame["hypervolume_low"].notna()].all() and within.sum() > 12
    assert frame.loc[~within, "mechanism"].isin(["AEA", "FEA"]).all(), "next to no query of theirs is found"
    for place, who in enumerate(block.attackers):
        volumes = frame[frame["attacker"] == who].set_index("mechanism")["hypervolume"]
        cells = {name: cells[2 * place + 1] for name, cells in by_name(sheet).items()}
        assert [name for name, cell in cells.items() if cell.bold] == [volumes.idxmax()]
        assert all(float(cells[name].text) == pytest.approx(volumes[name], abs=0.0005 + 1e-9) for name in cells)
        known = quipu_table(block.result.points().query("measure == 'nDCG@10'")).set_index(["mechanism", "persona"])
        assert all(volumes[name] == pytest.approx(known.loc[(name, who), "hypervolume"]) for name in volumes.index)


def test_where_everything_is_given_away_no_volume_is_best() -> None:
    result = only(make_result(), {"CMP": (1.0, 50.0), "TEM": (1.0, 50.0), "Identity": (0.0,)})
    scores = result.scores.assign(score=result.scores["score"].mask(result.scores["side"] == "risk", 1.0))
    (block,) = blocks_of([replace(result, scores=scores)])
    assert (block.scores["hypervolume"] == 0).all() and not block.scores["hypervolume_best"].any()
    leader = narrative.findings(block)[0].leaders[1]
    assert leader.best == "none" and "at a risk below 1" in leader.caution


def test_shares_are_of_the_original_among_as_many_documents(block: Block) -> None:
    frame = tables.points(block).frame
    scores = block.result.scores
    for name in ("CMP", "AEA"):
        own = scores[(scores["mechanism"] == name) & (scores["measure"] == "nDCG@10")]
        means = own.groupby(["value", "side"])["score"].mean()
        for row in frame[frame["mechanism"] == name].to_dict("records"):
            utility, ceiling = means[row["value"], "utility"], means[row["value"], "ceiling"]
            assert row["ceiling"] == pytest.approx(ceiling) and row["kept"] == pytest.approx(utility / ceiling)
    cells = {(row[0].text, row[1].text): row for part in tables.points(block).sections for row in part.rows}
    ceilings = frame.set_index(["mechanism", "value"])["ceiling"]
    assert cells["CMP", "epsilon 50"][3].text == f"{ceilings['CMP', 50.0].iloc[0]:.3f}"
    assert cells["CMP", "epsilon 50"][4].text.endswith(" %")
    deeper = by_name(tables.references([block]))["Original, as many documents"]
    assert deeper[0].text == f"{ceilings.min():.3f} to {ceilings.max():.3f}"
    assert "as in the paper" in narrative.lead(block) and f"{ceilings.max():.3f}" in narrative.lead(block)


def test_large_pools_are_marked() -> None:
    result = make_result()
    settings = result.settings.assign(pooled=3000.0, pooled_share=0.0255)
    settings.loc[settings["mechanism"] == "AEA", ["pooled", "pooled_share"]] = (2000.0, 0.017)
    sheet = tables.points(blocks_of([replace(result, settings=settings)])[0])
    marked = {row[0].text for section in sheet.sections for row in section.rows if tables.POOLS_MUCH in row[5].marks}
    assert "CMP" in marked and "AEA" not in marked and "more than 2 % of the collection" in sheet.caption


def test_without_ceilings_shares_are_unknown() -> None:
    result = make_result()
    old = replace(result, scores=result.scores[result.scores["side"] != "ceiling"].reset_index(drop=True))
    (block,) = blocks_of([old])
    assert block.points["kept"].isna().all() and "Original, as many documents" not in by_name(
        tables.references([block])
    )
    assert "users keep" not in narrative.findings(block)[0].within


def test_many_mechanisms_can_still_be_told_apart() -> None:
    """Holm over 66 pairs needs more than the default 2,000 replicates, with which nothing is significant."""
    one = make_result(queries=30)
    copies = [renamed(one, {name: f"{name}(k={turn})" for name in one.mechanisms}) for turn in (1, 2)]
    both = copies[0]
    for field in ("settings", "obfuscated", "ranks", "scores", "guesses", "notes"):
        frame = pd.concat([getattr(copy, field) for copy in copies], ignore_index=True)
        object.__setattr__(both, field, frame)
    block = blocks_of([both])[0]
    assert len(block.mechanisms) == 12
    assert block.scores["worse"].any()


def test_companions_by_hand(block: Block) -> None:
    rows = by_name(tables.companions(block))
    curve = curve_by_hand(block.result.scores, "CMP", "R@10", "nDCG@10")
    width = len(rows["CMP"]) // 3
    cells = rows["CMP"][width : 2 * width]
    for cell, budget in zip(cells, (0.01, 0.05, 0.1), strict=True):
        safe = [u for r, u in curve if r <= budget]
        assert cell.text == (f"{max(safe):.3f}" if safe else DASH)
    top = curve_by_hand(block.result.scores, "Identity", "R@10", "nDCG@10")[0][1]
    grid = np.linspace(0, 1, 200_001)
    best = [max((min(u, top) for r, u in curve if r <= rho), default=0.0) for rho in grid[::100]]
    volume = by_name(tables.table_1([block]))["CMP"][3]
    assert float(volume.text) == pytest.approx(np.mean(best) / top, abs=0.002)


def test_points_have_the_means_and_the_intervals_of_the_one_function(block: Block) -> None:
    frame = tables.points(block).frame
    row = frame[(frame["mechanism"] == "CMP") & (frame["value"] == 15.0) & (frame["attacker"] == "active")].iloc[0]
    scores = block.result.scores
    own = scores[(scores["mechanism"] == "CMP") & (scores["value"] == 15.0) & (scores["side"] != "ceiling")]
    hits = own.loc[own["measure"] == "R@10", "score"].to_numpy()
    gains = own.loc[own["measure"] == "nDCG@10", "score"].to_numpy()
    assert row["risk"] == pytest.approx(hits.mean()) and row["utility"] == pytest.approx(gains.mean())
    for name, measured, are_hits in (("risk", hits, True), ("utility", gains, False)):
        low, high = mean_intervals(measured[:, None], hits=are_hits)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((low.item(), high.item()))


def test_nothing_found_is_not_shown_as_nothing_to_find(block: Block) -> None:
    """0 of 12 queries: the report said [0.000, 0.000]."""
    none = block.points[(block.points["risk"] == 0) & (block.points["attacker"] == "active")]
    assert len(none) and none["risk_high"].round(3).unique().tolist() == [0.265]


def test_means_and_intervals_are_over_the_same_queries(block: Block) -> None:
    """Half of the queries have no judgments: their risk counts, and every point lies in its own interval."""
    scores = block.result.scores
    qids = sorted(set(scores["qid"]))[:6]
    found_out = (scores["side"] == "risk") & scores["qid"].isin(qids)
    unjudged = (scores["side"] == "utility") & scores["qid"].isin(qids)
    changed = replace(block.result, scores=scores.assign(score=scores["score"].mask(found_out, 1.0))[~unjudged])
    points = Block("half", changed, block.system, block.measure).points
    assert points["risk"].min() >= 0.5
    for name in ("risk", "utility"):
        assert (points[f"{name}_low"] <= points[name]).all() and (points[name] <= points[f"{name}_high"]).all()


def test_the_formal_side_says_what_is_promised(block: Block) -> None:
    rows = {(row[0].text, row[1].text): row for section in tables.formal(block).sections for row in section.rows}
    cmp = [cell.text for cell in rows["CMP", "epsilon 12.5"]]
    assert cmp[2:5] == ["12.5-metric DP (euclidean) per word", "50", "625"]
    assert tables.formal(block).headings[3:6] == ("N", "N × epsilon", "N × L × epsilon")
    assert "2.0 %" in cmp and "uniform" in cmp
    aea = [cell.text for cell in rows["AEA", "level 3"]]
    assert aea[2] == "none: a heuristic" and aea[4:6] == [DASH, DASH] and aea.count(DASH) == 5


def test_another_measure() -> None:
    sheet = tables.table_1(blocks_of([make_result()], "SetR"))
    assert set(sheet.frame["measure"]) == {"SetR"}
    with pytest.raises(InputError, match="has no measure 'P@5'; it has nDCG@10, SetR"):
        blocks_of([make_result()], "P@5")


def test_no_result() -> None:
    with pytest.raises(InputError, match="no result"):
        blocks_of([])


def test_names_of_files_are_safe_and_differ() -> None:
    assert tables.slugs(["a b", "a-b", "\N{GRINNING FACE}", "../x"]) == {
        "a b": "a-b",
        "a-b": "a-b-2",
        "\N{GRINNING FACE}": "result",
        "../x": "x",
    }


def test_captions_speak_only_of_references_that_were_run() -> None:
    """Where engines are over the wire, the original queries are not sent, and there is no Identity."""
    without = only(make_result(), {"CMP": (1.0, 10.0), "Random": (0.0,)})
    caption = tables.references(blocks_of([without])).caption
    assert "Random" in caption and "Identity" not in caption
    assert "Identity" in tables.references(blocks_of([make_result()])).caption


def test_a_report_lets_nobody_test_a_guess_of_the_queries(tmp_path: Path) -> None:
    result = make_result()
    page = write_report([result], tmp_path, examples=False, formats=()).read_text(encoding="utf-8")
    assert result.manifest["queries"]["fingerprint"][:12] not in page
    assert result.manifest["collection"]["fingerprint"][:12] in page
