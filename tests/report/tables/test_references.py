"""The references: Identity, Random, and the original over larger pools."""

import pytest

from quipukit.report import tables
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import by_name, only


def test_references_stand_apart(view: View) -> None:
    assert not {"Identity", "Random"} & set(by_name(tables.table_1([view])))
    rows = by_name(tables.references([view]))
    scores = view.result.scores
    for name in ("Identity", "Random"):
        own = scores[(scores["mechanism"] == name) & (scores["side"] != "ceiling")].groupby("measure")["score"].mean()
        expected = [own[measure] for measure in ("nDCG@10", "P@1", "R@10", "RR")]
        assert [float(cell.text) for cell in rows[name]] == pytest.approx(expected, abs=0.0005 + 1e-9)


def test_captions_speak_only_of_references_that_were_run() -> None:
    """Where engines are over the network, the original queries are not sent, and there is no Identity."""
    without = only(make_result(), {"CMP": (1.0, 10.0), "Random": (0.0,)})
    caption = tables.references(views_of([without])).caption
    assert "Random" in caption and "Identity" not in caption
    assert "Identity" in tables.references(views_of([make_result()])).caption
