"""The tables: their numbers against numbers computed another way, their marks, and their gaps."""

import itertools

import numpy as np
import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.measures.bootstrap import compare
from quipukit.report import tables
from quipukit.report.blocks import Block, blocks_of
from quipukit.report.sheet import DASH, Cell, Sheet
from tests.example_results import make_result
from tests.report.results import only, renamed


def by_name(sheet: Sheet) -> dict[str, tuple[Cell, ...]]:
    return {row[0].text: row[1:] for section in sheet.sections for row in section.rows}


def curve_by_hand(scores: pd.DataFrame, mechanism: str, risk: str, measure: str) -> list[tuple[float, float]]:
    rows = scores[scores["mechanism"] == mechanism]
    means = rows.groupby(["value", "side", "measure"])["score"].mean()
    return [(means[value, "risk", risk], means[value, "utility", measure]) for value in sorted(rows["value"].unique())]


def shoelace(curve: list[tuple[float, float]]) -> float:
    """The closed form of the score: another formula than the one in the library."""
    total = sum(u * next_r - r * next_u for (r, u), (next_r, next_u) in itertools.pairwise(curve))
    (r_1, u_1), (r_m, u_m) = curve[0], curve[-1]
    return total + ((u_m**2 - r_m**2) - (u_1**2 - r_1**2)) / 2


@pytest.fixture(scope="module")
def block() -> Block:
    return blocks_of([make_result()])[0]


@pytest.mark.parametrize(("place", "risk"), [(0, "P@1"), (1, "R@10"), (2, "RR")])
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
    for place, who in enumerate(block.attackers):
        scores = {name: float(cells[place].text) for name, cells in rows.items()}
        bold = [name for name, cells in rows.items() if cells[place].bold]
        assert bold == [max(scores, key=lambda name: scores[name])]
        for row in differences[differences["attacker"] == who].itertuples():
            if bold[0] in (row.first, row.second):
                other = row.second if bold[0] == row.first else row.first
                if not 0.03 < row.p_holm < 0.07:  # nearer to the border, the number of replicates decides
                    assert (tables.WORSE in rows[other][place].marks) == (row.p_holm < 0.05)


def test_references_stand_apart(block: Block) -> None:
    assert not {"Identity", "Random"} & set(by_name(tables.table_1([block])))
    rows = by_name(tables.references([block]))
    scores = block.result.scores
    for name in ("Identity", "Random"):
        own = scores[scores["mechanism"] == name].groupby("measure")["score"].mean()
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
    assert all(len(cell.small) == 1 for row in by_name(sheet).values() for cell in row)


def test_a_column_block_for_every_collection_and_system() -> None:
    first = make_result(name="first", systems=("bm25 + minilm", "dense + bm25"))
    second = make_result(name="second", mechanisms=("CMP", "Identity"))
    sheet = tables.table_1(blocks_of([first, second]))
    assert sheet.groups == (("first, bm25 + minilm", 3), ("first, dense + bm25", 3), ("second", 3))
    rows = by_name(sheet)
    assert all(len(row) == 9 for row in rows.values())
    assert [cell.text for cell in rows["TEM"][6:]] == [DASH] * 3
    assert DASH not in [cell.text for cell in rows["CMP"]]
    assert rows["CMP"][0].text != rows["CMP"][3].text


def test_results_of_one_name_stay_apart() -> None:
    blocks = blocks_of([make_result(), make_result(queries=8)])
    assert [block.name for block in blocks] == ["example (1)", "example (2)"]


def test_a_single_point_is_flagged_and_not_ranked() -> None:
    result = only(make_result(), {"CMP": (1.0, 10.0, 50.0), "AEA": (3.0,), "Identity": (0.0,)})
    sheet = tables.table_1(blocks_of([result]))
    for cell in by_name(sheet)["AEA"]:
        assert cell.text == "0.000" and tables.SINGLE in cell.marks
        assert not cell.bold and tables.WORSE not in cell.marks
    assert "single point" in sheet.caption
    assert all(cell.bold for cell in by_name(sheet)["CMP"])


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
    for cell, budget in zip(cells[1:], (0.01, 0.05, 0.1), strict=True):
        safe = [u for r, u in curve if r <= budget]
        assert cell.text == (f"{max(safe):.3f}" if safe else DASH)
    top = curve_by_hand(block.result.scores, "Identity", "R@10", "nDCG@10")[0][1]
    grid = np.linspace(0, 1, 200_001)
    best = [max((min(u, top) for r, u in curve if r <= rho), default=0.0) for rho in grid[::100]]
    assert float(cells[0].text) == pytest.approx(np.mean(best) / top, abs=0.002)


def test_points_have_the_means_and_plausible_intervals(block: Block) -> None:
    frame = tables.points(block).frame
    row = frame[(frame["mechanism"] == "CMP") & (frame["value"] == 15.0) & (frame["attacker"] == "active")].iloc[0]
    scores = block.result.scores
    own = scores[(scores["mechanism"] == "CMP") & (scores["value"] == 15.0)]
    hits = own.loc[own["measure"] == "R@10", "score"].to_numpy()
    gains = own.loc[own["measure"] == "nDCG@10", "score"].to_numpy()
    assert row["risk"] == pytest.approx(hits.mean()) and row["utility"] == pytest.approx(gains.mean())
    # A percentile interval of a mean is close to the normal one.
    error = gains.std() / np.sqrt(len(gains))
    assert row["utility_low"] == pytest.approx(gains.mean() - 1.96 * error, abs=0.4 * error)
    assert row["utility_high"] == pytest.approx(gains.mean() + 1.96 * error, abs=0.4 * error)


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
