"""The findings in sentences: what is called best, and what is recommended."""

import html
from dataclasses import replace
from pathlib import Path

from quipukit.measures.quipu import quipu_table
from quipukit.report import narrative
from quipukit.report.attacker_gaps import warning
from quipukit.report.sections.short import Short
from quipukit.report.table_model import typeset
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.pages import rendered, report_data, write
from tests.report.results import (
    SMALL,
    narrow_result,
    only,
    two_attackers,
)


def test_where_no_curve_can_be_ranked_none_is_best() -> None:
    (view,) = views_of([only(narrow_result(), {"AEA": (3.0, 4.0, 5.0), "Identity": (0.0,)})])
    assert not view.scores["best"].any()
    assert narrative.findings(view)[0].leaders[0].best == "none"
    assert "spans less than" in narrative.findings(view)[0].leaders[0].caution
    assert narrative.findings(view)[0].leaders[1].best == "none"


def test_the_summary_names_the_best() -> None:
    result = make_result(queries=30, mechanisms=("CMP", "TEM", "AEA", "Identity"))
    page = rendered(Short(), report_data(result))
    scores = quipu_table(result.points().query("measure == 'nDCG@10'"))
    scores = scores[~scores["mechanism"].isin(["Identity", "Random"]) & scores["rankable"]]
    for who in ("lazy", "active", "motivated"):
        own = scores[scores["persona"] == who]
        best = own.loc[own["quipu"].idxmax()]
        card = page.split(f"Against the {who} persona")[1].split("</article>")[0]
        assert f"<strong>{best['mechanism']}</strong>" in card
        assert f"{best['quipu']:.3f}".replace("-", "\N{MINUS SIGN}") in card
        assert typeset(result.recommend(persona=who).sentence) in card


def test_the_summary_recommends_only_what_is_certified() -> None:
    """0 hits in 30 queries leave a risk of 0.2 possible among 14 settings: the page must not call that 10 % at most."""
    for queries, told in (
        (30, "No setting can be certified (statistics)"),
        (200, "certified (statistics) against QuIA alone"),
    ):
        result = make_result(queries=queries, mechanisms=("CMP", "AEA", "Identity"))
        page = rendered(Short(), report_data(result))
        card = page.split("Against the active persona")[1].split("</article>")[0]
        assert told in card and "At a risk of at most" not in card


def test_the_ceiling_that_the_log_puts_on_risk_is_told(tmp_path: Path) -> None:
    result = only(make_result(queries=12), SMALL)
    assert "no risk can exceed" not in rendered(Short(), report_data(result))
    manifest = {**result.manifest, "log": {**result.manifest["log"], "in_log": 1, "inject": False}}
    ranks = result.ranks.assign(better=result.ranks["better"].where(result.ranks["qid"] == "q01", -1))
    page = html.unescape(write(replace(result, manifest=manifest, ranks=ranks), tmp_path / "one"))
    assert "the attacker's log holds 1 of the 12 originals" in page and "no risk can exceed 0.083" in page
    assert "Nothing is recommended" in page and "Use " not in page.split("</article>")[0]


def test_of_two_attackers_the_stronger_one_speaks(small: View) -> None:
    (view,) = views_of([two_attackers(small.result)])
    found = {finding.persona: finding for finding in narrative.findings(view)}
    assert list(found) == view.headlines and len(found) == 3
    assert found["strongest lazy"].reads == "takes the first guess (P@1)"
    advice = view.result.recommend(persona="active").sentence
    assert found["strongest active"].within == advice != view.result.recommend(attacker="QuIA").sentence
    text = warning(view)
    assert "QuIA alone misleads here" in text and "against Words" in text
    assert warning(small) == ""
