"""The frontier of a view: against the strongest attacker, for the active persona, over all N."""

from dataclasses import replace

import numpy as np

from quipukit.report.frontier import frontier_frame, main_label, named_settings
from quipukit.report.views import views_of
from tests.example_results import make_result
from tests.report.results import SMALL, only, swept, two_attackers


def test_one_row_per_setting_against_the_strongest() -> None:
    (view,) = views_of([two_attackers(only(make_result(), SMALL))])
    assert main_label(view) == "strongest active"
    frame = frontier_frame(view)
    assert frame["name"].tolist() == ["CMP@1", "CMP@10", "CMP@50", "AEA@4", "AEA@3", "Identity", "Random"]
    expected = view.points[view.points["label"] == "strongest active"]
    assert frame["risk"].tolist() == expected["risk"].tolist()
    assert frame["variants"].tolist() == [50, 50, 50, 38.5, 38.5, 38.5, 38.5]
    assert frame["reference"].sum() == 2 and frame["frontier"].any()


def test_a_sweep_has_every_n() -> None:
    (view,) = views_of([swept(only(make_result(), SMALL), (1, 50))])
    frame = frontier_frame(view)
    assert len(frame) == 2 * 7 and {"CMP@1, N = 1", "CMP@1, N = 50"} <= set(frame["name"])
    assert set(frame["n"]) == {1, 50}


def test_names_are_few() -> None:
    result = swept(only(make_result(), SMALL), (1, 50))
    much = (result.settings["mechanism"] == "CMP") & (result.settings["n"] == 50)
    (view,) = views_of([replace(result, settings=result.settings.assign(pooled_share=np.where(much, 0.05, 0.01)))])
    frame = frontier_frame(view)
    names = [text for _, text in named_settings(frame)]
    assert names[-2:] == ["Random", "Identity"] and len(names) == len(set(names)), "references once, by risk"
    assert "CMP@50, N = 50" in names, "it would be a member"
    assert set(names[:-2]) == set(frame.loc[frame["frontier"] | frame["would_be"], "name"])
    assert all(frame.loc[number, "mechanism"] in text for number, text in named_settings(frame))


def test_nothing_without_utility() -> None:
    (view,) = views_of([only(make_result(judged=False), SMALL)])
    assert frontier_frame(view).empty
