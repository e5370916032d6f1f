"""Views: scores, marks, points and intervals of one result and system."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from quipukit.errors import InputError
from quipukit.report import narrative, tables
from quipukit.report.views import View, views_of
from tests.example_results import make_result
from tests.report.results import (
    by_name,
    only,
    renamed,
    two_attackers,
)


def test_where_everything_is_given_away_no_volume_is_best() -> None:
    result = only(make_result(), {"CMP": (1.0, 50.0), "TEM": (1.0, 50.0), "Identity": (0.0,)})
    scores = result.scores.assign(score=result.scores["score"].mask(result.scores["side"] == "risk", 1.0))
    (view,) = views_of([replace(result, scores=scores)])
    assert (view.scores["hypervolume"] == 0).all() and not view.scores["hypervolume_best"].any()
    leader = narrative.findings(view)[0].leaders[1]
    assert leader.best == "none" and "at a risk below 1" in leader.caution


def test_without_ceilings_shares_are_unknown() -> None:
    result = make_result()
    old = replace(result, scores=result.scores[result.scores["side"] != "ceiling"].reset_index(drop=True))
    (view,) = views_of([old])
    assert view.points["kept"].isna().all() and "Original, as many documents" not in by_name(tables.references([view]))
    assert "users keep" not in narrative.findings(view)[0].within


def test_many_mechanisms_can_still_be_told_apart() -> None:
    """Holm over 66 pairs needs more than the default 2,000 replicates, with which nothing is significant."""
    one = make_result(queries=30)
    copies = [renamed(one, {name: f"{name}(k={turn})" for name in one.mechanisms}) for turn in (1, 2)]
    both = copies[0]
    for field in ("settings", "obfuscated", "ranks", "scores", "guesses", "notes"):
        frame = pd.concat([getattr(copy, field) for copy in copies], ignore_index=True)
        object.__setattr__(both, field, frame)
    view = views_of([both])[0]
    assert len(view.mechanisms) == 12
    assert view.scores["worse"].any()


def test_nothing_found_is_not_shown_as_nothing_to_find(view: View) -> None:
    """0 of 12 queries: the report said [0.000, 0.000]."""
    none = view.points[(view.points["risk"] == 0) & (view.points["label"] == "active")]
    assert len(none) and none["risk_high"].round(3).unique().tolist() == [0.265]


def test_means_and_intervals_are_over_the_same_queries(view: View) -> None:
    """Half of the queries have no judgments: their risk counts, and every point lies in its own interval."""
    scores = view.result.scores
    qids = sorted(set(scores["qid"]))[:6]
    found_out = (scores["side"] == "risk") & scores["qid"].isin(qids)
    unjudged = (scores["side"] == "utility") & scores["qid"].isin(qids)
    changed = replace(view.result, scores=scores.assign(score=scores["score"].mask(found_out, 1.0))[~unjudged])
    points = View("half", changed, view.system, view.measure).points
    assert points["risk"].min() >= 0.5
    for name in ("risk", "utility"):
        assert (points[f"{name}_low"] <= points[name]).all() and (points[name] <= points[f"{name}_high"]).all()


def test_no_result() -> None:
    with pytest.raises(InputError, match="no result"):
        views_of([])


def test_two_attackers_are_named_with_their_personas(view: View) -> None:
    assert view.labels == ["lazy", "active", "motivated"] and view.attackers == ["QuIA"]
    (both,) = views_of([two_attackers(view.result)])
    assert set(both.labels) == {f"{who} {how}" for who in ("QuIA", "strongest") for how in view.labels}
    assert (both.attacker("strongest lazy"), both.persona("strongest lazy")) == ("strongest", "lazy")
    assert both.headlines == [f"strongest {how}" for how in view.labels] and view.headlines == view.labels
    assert "Words" in set(both.strongest["attacker"]) and view.strongest.empty
    for label in view.labels:
        own, quia, words = (
            each.curve("CMP", name)["risk"].to_numpy()
            for each, name in ((view, label), (both, f"QuIA {label}"), (both, f"strongest {label}"))
        )
        assert np.array_equal(own, quia) and np.allclose(words, (1 + own) / 2)
    scores = both.scores
    assert len(scores) == 2 * len(view.scores) and set(scores["attacker"]) == {"QuIA", "strongest"}
    known = view.scores.set_index(["mechanism", "persona"])["quipu"]
    mine = scores[scores["attacker"] == "QuIA"].set_index(["mechanism", "persona"])["quipu"]
    assert mine.to_dict() == known.to_dict(), "a second attacker changes nothing for the first"
    assert scores.groupby("label")["best"].sum().eq(1).all()
