"""Differences, their intervals and their p-values."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from quipukit.comparison import compare_results
from quipukit.measures.bootstrap import holm
from quipukit.measures.quipu import quipu_score
from tests.comparison.results import FIRST, SECOND, other_texts, utilities
from tests.example_results import make_result
from tests.recommend.results import tiny_result
from tests.stat_checks import refuted


def test_scores_and_means_by_hand() -> None:
    found = compare_results(tiny_result(FIRST), tiny_result(SECOND), replicates=500)
    row = found.scores.iloc[0]
    first = quipu_score([(0, 0.2), (0.25, 0.6), (0.75, 0.7)]).value
    second = quipu_score([(0, 0.1), (0.5, 0.6), (1, 0.7)]).value
    assert (row["attacker"], row["persona"]) == ("QuIA", "active")
    assert (row["mechanism"], row["measure"], row["settings"]) == ("A", "nDCG@10", 3)
    assert (row["first"], row["second"], row["difference"]) == pytest.approx((first, second, first - second))
    volumes = found.scores.iloc[1]
    # Over the original's utility, 0.8: found without risk, then from 0.25 on, then from 0.75 on; the second likewise.
    own, other = (0.2 * 0.25 + 0.6 * 0.5 + 0.7 * 0.25) / 0.8, (0.1 * 0.5 + 0.6 * 0.5) / 0.8
    assert (volumes["first"], volumes["second"], volumes["difference"]) == pytest.approx((own, other, own - other))
    assert found.paired and found.queries == (4, 4, 4) and found.scores["score"].tolist() == ["quipu", "hypervolume"]
    risks = found.settings[found.settings["side"] == "risk"]
    assert risks["difference"].tolist() == [0, -0.25, -0.25, 0]
    assert utilities(found)["difference"].tolist() == pytest.approx([0.1, 0, 0, 0])
    assert any("has no score" in note and "Identity" in note for note in found.notes)


def test_swapping_the_results_changes_the_sign_alone() -> None:
    a, b = make_result(25), make_result(25, shift=0.05)
    forth, back = compare_results(a, b, replicates=500), compare_results(b, a, replicates=500)
    for there, here in ((forth.scores, back.scores), (forth.settings, back.settings)):
        assert here["difference"].tolist() == pytest.approx((-there["difference"]).tolist())
        assert here["low"].tolist() == pytest.approx((-there["high"]).tolist(), nan_ok=True)
        assert here["p"].tolist() == there["p"].tolist()


def test_holm_corrects_within_each_attacker_and_measure() -> None:
    found = compare_results(make_result(25), make_result(25, shift=0.01), replicates=300)
    for _, family in found.scores.groupby(["attacker", "persona", "score"]):
        assert family["p_holm"].tolist() == holm(family["p"].tolist())
    for _, family in found.settings.groupby(["side", "attacker", "persona"]):
        assert len(family) == 48 and family["p_holm"].tolist() == holm(family["p"].tolist())


def test_differences_are_formed_query_by_query() -> None:
    """A constant difference has no spread at all where queries are paired, and drowns where they are not."""
    easy = np.linspace(0.05, 0.95, 30)
    first = tiny_result({("A", 1): ([0] * 30, list(easy)), ("A", 2): ([0] * 30, list(easy))})
    second = tiny_result({("A", 1): ([0] * 30, list(easy - 0.02)), ("A", 2): ([0] * 30, list(easy - 0.02))})
    paired, apart = compare_results(first, second), compare_results(first, other_texts(second))
    row, twin = (utilities(found).iloc[0] for found in (paired, apart))
    assert row["difference"] == pytest.approx(0.02) and row["p_holm"] < 0.001
    assert np.isnan(row["low"]) and np.isnan(row["high"]), "no spread, no interval"
    assert not apart.paired and twin["difference"] == pytest.approx(0.02) and twin["p"] > 0.5
    # Two independent means: the variances add.
    spread = 2 * 1.96 * np.sqrt(2 * easy.var() / 30)
    assert twin["high"] - twin["low"] == pytest.approx(spread, rel=0.1)


@pytest.mark.statistical
def test_intervals_cover_the_true_difference() -> None:
    """Of 150 experiments of 50 queries, 90 % or more are covered (nominal 95 %). False alarms: below 1e-6."""
    rng = np.random.default_rng(11)
    sides: list[dict[Any, Any]] = [{}, {}]
    for number in range(150):
        ease = rng.random(50)
        for side, gain in zip(sides, (0.0, 0.1), strict=True):
            side[f"E{number}", 1] = ([0] * 50, list(np.clip(0.8 * ease + gain + rng.uniform(-0.1, 0.1, 50), -1, 2)))
    results = [tiny_result(side) for side in sides]

    def check(level: float) -> None:
        rows = utilities(compare_results(*results, level=level, replicates=500))
        covered = int(((rows["low"] <= -0.1) & (rows["high"] >= -0.1)).sum())
        assert stats.binom.cdf(covered, len(rows), 0.9) >= 1e-6, covered

    check(0.95)
    assert refuted(check, 0.6)


def test_measures_that_count_documents_are_not_cut_off() -> None:
    counts = np.arange(30.0)
    first, second = (tiny_result({("A", 1): ([0] * 30, list(counts + shift))}) for shift in (6 + np.sin(counts), 0))
    row = utilities(compare_results(first, second)).iloc[0]
    assert row["difference"] == pytest.approx(6, abs=0.3) and row["low"] < 6 < row["high"] and row["low"] > 5
