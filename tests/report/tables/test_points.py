"""Every setting as numbers: means, intervals, shares, pools."""

from dataclasses import replace

import pytest

from quipukit.measures.intervals import mean_intervals
from quipukit.report import narrative, tables
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import (
    by_name,
)


def test_shares_are_of_the_original_among_as_many_documents(view: View) -> None:
    frame = tables.points(view).frame
    scores = view.result.scores
    for name in ("CMP", "AEA"):
        own = scores[(scores["mechanism"] == name) & (scores["measure"] == "nDCG@10")]
        means = own.groupby(["value", "side"])["score"].mean()
        for row in frame[frame["mechanism"] == name].to_dict("records"):
            utility, ceiling = means[row["value"], "utility"], means[row["value"], "ceiling"]
            assert row["ceiling"] == pytest.approx(ceiling) and row["kept"] == pytest.approx(utility / ceiling)
    cells = {(row[0].text, row[1].text): row for part in tables.points(view).row_groups for row in part.rows}
    ceilings = frame.set_index(["mechanism", "value"])["ceiling"]
    assert cells["CMP", "epsilon 50"][3].text == f"{ceilings['CMP', 50.0].iloc[0]:.3f}"
    assert cells["CMP", "epsilon 50"][4].text.endswith(" %")
    deeper = by_name(tables.references([view]))["Original, as many documents"]
    assert deeper[0].text == f"{ceilings.min():.3f} to {ceilings.max():.3f}"
    assert "as in the paper" in narrative.lead(view) and f"{ceilings.max():.3f}" in narrative.lead(view)


def test_large_pools_are_marked() -> None:
    result = make_result()
    settings = result.settings.assign(pooled=3000.0, pooled_share=0.0255)
    settings.loc[settings["mechanism"] == "AEA", ["pooled", "pooled_share"]] = (2000.0, 0.017)
    table = tables.points(views_of([replace(result, settings=settings)])[0])
    marked = {row[0].text for group in table.row_groups for row in group.rows if tables.POOLS_MUCH in row[5].marks}
    assert "CMP" in marked and "AEA" not in marked and "more than 2 % of the collection" in table.caption


def test_points_have_the_means_and_the_intervals_of_the_one_function(view: View) -> None:
    frame = tables.points(view).frame
    row = frame[(frame["mechanism"] == "CMP") & (frame["value"] == 15.0) & (frame["persona"] == "active")].iloc[0]
    scores = view.result.scores
    own = scores[(scores["mechanism"] == "CMP") & (scores["value"] == 15.0) & (scores["side"] != "ceiling")]
    hits = own.loc[own["measure"] == "R@10", "score"].to_numpy()
    gains = own.loc[own["measure"] == "nDCG@10", "score"].to_numpy()
    assert row["risk"] == pytest.approx(hits.mean()) and row["utility"] == pytest.approx(gains.mean())
    for name, measured, are_hits in (("risk", hits, True), ("utility", gains, False)):
        low, high = mean_intervals(measured[:, None], hits=are_hits)
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((low.item(), high.item()))
