"""Recommendations: by hand, against brute force, and how honest the intervals are."""

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quipukit.errors import InputError
from quipukit.measures.bootstrap import draw, interval
from quipukit.recommend import Recommendation, recommend
from quipukit.recommend.selection import _expected, highest_risk, pareto, select
from quipukit.recommend.wording import _digits, enough_queries
from quipukit.results import TABLES, Result
from tests.example_results import make_result
from tests.statistics import assert_binomial, refuted

Sides = tuple[list[float], list[float]]  # risk and utility per query
REFERENCES = ("Identity", "Random")


def tiny_result(
    table: dict[tuple[str, float], Sides], risk: tuple[str, ...] = ("R@10",), qids: list[str] | None = None, **more: Any
) -> Result:
    """Return a result with these risks and utilities; every risk measure has the same scores."""
    settings, scores = [], []
    names = qids or [f"q{number}" for number in range(len(next(iter(table.values()))[0]))]
    for (mechanism, value), sides in table.items():
        plain = mechanism in REFERENCES
        own = {"mechanism": mechanism, "parameter": "" if plain else "epsilon", "value": value}
        facts = {
            name: {"text": "", "whole": 0, "number": 0.0}[kind] for name, kind in TABLES["settings"].columns.items()
        }
        facts |= {"strategy": "reference" if plain else "sampling", "guarantee": "some", "n": 50, "variants": 50.0}
        settings.append({**facts, **own, "budget": 50 * value, **more})
        for side, measures, attacker, system, found in (
            ("risk", risk, "QuIA", "", sides[0]),
            ("utility", ("nDCG@10",), "", "bm25", sides[1]),
        ):
            for measure, (qid, score) in product(measures, zip(names, found, strict=True)):
                row = {"seed": 1, "system": system, "attacker": attacker, "qid": qid, "side": side}
                scores.append({**row, **own, "measure": measure, "score": score})
    frames = {name: one.empty() for name, one in TABLES.items()}
    frames["queries"] = TABLES["queries"].check(pd.DataFrame({"qid": names, "query": [f"secret {q}" for q in names]}))
    frames["settings"] = TABLES["settings"].check(pd.DataFrame(settings))
    frames["scores"] = TABLES["scores"].check(pd.DataFrame(scores))
    manifest = {"collection": {"name": "tiny"}, "systems": [{"name": "bm25", "depth": 10}], "seeds": [1]}
    return Result(manifest, **frames)


# Means (risk, utility): A@1 (0, 0.2), A@5 (0.25, 0.6), A@9 (0.75, 0.7), B@2 (0.25, 0.5), B@4 (0.5, 0.6), original 0.8.
HAND: dict[tuple[str, float], Sides] = {
    ("A", 1): ([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.2]),
    ("A", 5): ([1, 0, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("A", 9): ([1, 1, 0, 1], [0.6, 0.7, 0.8, 0.7]),
    ("B", 2): ([0, 1, 0, 0], [0.4, 0.5, 0.6, 0.5]),
    ("B", 4): ([1, 1, 0, 0], [0.5, 0.6, 0.7, 0.6]),
    ("Identity", 0): ([1, 1, 1, 1], [0.7, 0.8, 0.9, 0.8]),
    ("Random", 0): ([0, 0, 0, 0], [0.9, 0.9, 0.9, 0.9]),  # absurdly good: it must not be chosen
}


def by_hand(**wishes: Any) -> Recommendation:
    return tiny_result(HAND).recommend(**wishes)


# --- the choice ---


def test_the_best_the_runner_up_and_the_front_by_hand() -> None:
    found = by_hand(max_risk=0.3)
    assert found.best is not None and found.runner_up is not None and found.lead is not None
    assert (found.best.name, found.best.risk, found.best.utility) == ("A@5", 0.25, pytest.approx(0.6))
    assert (found.best.kept, found.original) == (pytest.approx(0.75), pytest.approx(0.8))
    assert (found.runner_up.name, found.lead[0]) == ("B@2", pytest.approx(0.1))
    assert [f"{row.mechanism}@{row.value:g}" for row in found.front.itertuples()] == ["A@1", "A@5", "A@9"]
    assert found.settings["fits"].tolist() == [True, True, False, True, False]
    assert found.sentence == (
        "Use A at epsilon 5 with 50 variants per query: users keep 75 % of the search quality (nDCG@10), and an "
        "attacker who looks at ten guesses finds the query in about 25 of 100 cases."
    )


def test_a_budget_is_kept_by_risks_equal_to_it_and_lower_risk_breaks_ties() -> None:
    assert by_hand(max_risk=0.25).best.name == "A@5"  # type: ignore[union-attr]
    assert by_hand(max_risk=0.2499).best.name == "A@1"  # type: ignore[union-attr]
    without = tiny_result({key: sides for key, sides in HAND.items() if key != ("A", 9)})
    found = without.recommend(max_risk=0.5)  # A@5 and B@4 have the same utility
    assert found.best.name == "A@5" and found.runner_up.name == "B@4"  # type: ignore[union-attr]
    assert found.lead[0] == pytest.approx(0) and found.lead[3] == 1  # type: ignore[index]
    assert any("not significant (p = 1)" in note for note in found.notes)


def test_references_compete_only_when_let_in() -> None:
    assert by_hand(max_risk=0.1).best.name == "A@1"  # type: ignore[union-attr]
    found = by_hand(max_risk=0.1, include_references=True)
    assert found.best is not None and found.best.name == "Random"
    assert "users keep all of the search quality" in found.sentence and "none of the 4 queries" in found.sentence


def test_where_nothing_fits_the_words_say_what_would() -> None:
    found = tiny_result({key: HAND[key] for key in (("A", 5), ("A", 9))}).recommend(max_risk=0.1)
    assert found.best is None and found.chosen_share == 0 and found.expected_utility is None
    assert found.sentence == (
        "No setting keeps the risk at 0.1 or below. The least risky is A at epsilon 5 with 50 variants per query: "
        "risk 0.25, nDCG@10 0.60."
    )
    assert found.notes == ()
    found = by_hand(max_risk=0.3, min_utility=0.65)
    assert (found.best, found.within_risk.name, found.within_utility.name) == (None, "A@5", "A@9")  # type: ignore[union-attr]
    assert "No setting reaches nDCG@10 0.65 at a risk of 0.3 or below. The best within" in found.sentence
    assert "To reach 0.65 takes a risk of 0.75: A at epsilon 9" in found.sentence
    found = by_hand(max_risk=0.3, min_utility=0.9)
    assert found.within_utility is None and "at any risk; the most is 0.70 (A at epsilon 9)" in found.sentence


def test_a_wish_for_utility_narrows_the_choice() -> None:
    assert by_hand(max_risk=0.3, min_utility=0.6).best.name == "A@5"  # type: ignore[union-attr]
    assert by_hand(max_risk=0.3, min_utility=0.6).runner_up is None
    assert any("No other mechanism than A" in note for note in by_hand(max_risk=0.3, min_utility=0.6).notes)


def test_without_the_original_utility_is_told_as_it_is() -> None:
    found = tiny_result({key: HAND[key] for key in (("A", 1), ("A", 5))}).recommend(max_risk=0.3)
    assert found.best.kept is None and "users reach nDCG@10 0.60" in found.sentence  # type: ignore[union-attr]


COORDINATES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(COORDINATES)
def test_the_front_is_what_brute_force_leaves(pairs: list[tuple[int, int]]) -> None:
    r, u = (np.array(side, np.float64) / 5 for side in zip(*pairs, strict=True))
    expected = [
        not any(a <= r[i] and b >= u[i] and (a < r[i] or b > u[i]) for a, b in zip(r, u, strict=True))
        for i in range(len(pairs))
    ]
    assert pareto(r, u).tolist() == expected


@given(COORDINATES, st.integers(0, 5), st.integers(0, 5))
def test_the_choice_is_that_of_brute_force_and_lies_on_the_front(
    pairs: list[tuple[int, int]], limit: int, least: int
) -> None:
    r, u = (np.array(side, np.float64) / 5 for side in zip(*pairs, strict=True))
    fits = [i for i in range(len(pairs)) if r[i] <= limit / 5 and u[i] >= least / 5]
    expected = min(fits, key=lambda i: (-u[i], r[i], i)) if fits else -1
    found = int(select(r[None], u[None], limit / 5, least / 5)[0])
    assert found == expected
    assert found < 0 or pareto(r, u)[found]


# --- how sure ---


def test_intervals_are_those_of_resampled_queries() -> None:
    """Two queries with utilities 0 and 1: a resample has mean 0, 1/2 or 1 with probabilities 1/4, 1/2, 1/4."""
    row = tiny_result({("A", 1): ([0, 0], [0, 1])}).recommend().settings.iloc[0]
    assert (row["utility_low"], row["utility"], row["utility_high"]) == (0, 0.5, 1)


def test_shares_of_the_original_use_the_same_draws() -> None:
    """Where every query keeps half, every resample does: only paired draws know that."""
    found = tiny_result(
        {("A", 1): ([0] * 6, [0, 0.1, 0.2, 0.3, 0.4, 0.5]), ("Identity", 0): ([1] * 6, list(np.arange(6) / 5))}
    )
    best = found.recommend().best
    assert best is not None and best.utility_high > best.utility_low + 0.1
    assert (best.kept, best.kept_low, best.kept_high) == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.statistical
def test_the_choice_is_repeated_on_every_replicate() -> None:
    """X finds (1, 0), Y (0.6, 0.6). X is chosen where query 1 is drawn twice: a quarter, and flattered by 1/2 there.

    False alarms: about 1e-6 for the share, below 1e-7 for the mean.
    """
    result = tiny_result({("X", 1): ([0, 0], [1, 0]), ("Y", 1): ([0, 0], [0.6, 0.6])})
    found = result.recommend(replicates=20_000)
    assert found.best is not None and found.best.name == "Y@1" and found.nothing_share == 0
    assert_binomial(round(found.chosen_share * 20_000), 20_000, 0.75)
    assert refuted(assert_binomial, round(found.chosen_share * 20_000), 20_000, 1.0)
    assert found.expected_utility == pytest.approx(0.6 - 0.125, abs=5.5 * 0.217 / math.sqrt(20_000))
    assert found.settings["chosen"].sum() == pytest.approx(1)


def test_replicates_in_which_nothing_fits_are_counted() -> None:
    """One query of two is found: both draws hit it in a quarter of the replicates, one in a half."""
    found = tiny_result({("A", 1): ([1, 0], [0.5, 0.5])}).recommend(max_risk=0.5, replicates=4000)
    assert found.nothing_share == pytest.approx(0.25, abs=0.04) and found.chosen_share == 1 - found.nothing_share
    assert "find none that fits" in found.notes[2]
    # Where it fits, no draw hits in a third of the cases and one in the others: the risk is understated by 1/6.
    assert found.expected_risk == pytest.approx(0.5 + 1 / 6, abs=0.025)


def test_the_upper_bound_of_a_risk_covers_it() -> None:
    """Exact coverage over all numbers of hits; the plain bootstrap, which never doubts a 0, falls far short."""
    queries = 43
    hits = np.arange(queries + 1)
    exact = highest_risk(hits / queries, queries)
    plain = stats.binom.ppf(0.975, queries, hits / queries) / queries
    for p in (0.01, 0.05, 0.1, 0.3, 0.7):
        law = stats.binom.pmf(hits, queries, p)
        assert law[exact >= p].sum() >= 0.975
    law = stats.binom.pmf(hits, queries, 0.05)
    assert law[plain >= 0.05].sum() < 0.9
    assert exact[0] == pytest.approx(1 - 0.025 ** (1 / queries)) and exact[-1] == 1


@pytest.mark.statistical
def test_the_upper_bound_covers_reciprocal_ranks_too() -> None:
    """Of 4,000 samples of 30 reciprocal ranks at least 97.5 % are covered. False alarms: below 1e-6."""
    ranks = 1 / np.maximum(1, np.random.default_rng(4).geometric(0.02, (4000, 30)))
    truth = sum(0.02 * 0.98 ** (k - 1) / k for k in range(1, 5000))
    covered = int((highest_risk(ranks.mean(axis=1), 30) >= truth).sum())
    assert stats.binom.cdf(covered, 4000, 0.975) >= 1e-6


def test_a_risk_of_zero_is_not_taken_for_safe() -> None:
    few, many = (tiny_result({("A", 1): ([0] * n, [0.5] * n)}).recommend(max_risk=0.1) for n in (35, 36))
    assert enough_queries(0.1) == 36
    assert few.best is not None and few.safe is None and not few.keeps_budget
    assert few.notes[0] == (
        "With 35 queries the risk could be as high as 0.1000, above the budget of 0.1. No setting's upper bound keeps "
        "it. It takes 36 queries or more to show so low a risk, even where none of them is found."
    ).replace("0.1000", _digits(few.best.risk_high, 0.1))
    assert many.keeps_budget and many.safe == many.best and "keeps the budget of 0.1 too" in many.notes[0]


def test_the_best_whose_bound_is_safe_is_named() -> None:
    quiet, loud = [0.0] * 60, [1.0] * 5 + [0.0] * 55
    result = tiny_result({("A", 1): (quiet, [0.3] * 60), ("B", 1): (quiet, [0.4] * 60), ("C", 1): (loud, [0.5] * 60)})
    found = result.recommend(max_risk=0.1)
    assert (found.best.name, found.safe.name, found.keeps_budget) == ("C@1", "B@1", False)  # type: ignore[union-attr]
    assert "With 60 queries the risk could be as high as 0.18" in found.notes[0] and "is B@1: risk" in found.notes[0]


def test_the_winners_curse_is_told_and_mostly_taken_off() -> None:
    """20 settings of the same true utility, 1/2, on 25 queries: the best of them looks better than it is.

    Over 300 experiments the naive interval covers 1/2 far too seldom, and the bias shrinks by half or more.
    """
    rng = np.random.default_rng(6)
    naive, honest, covered, bias, left = 0.0, 0.0, 300, [], []
    for number in range(covered):
        utility = rng.random((25, 20))
        weights = draw(25, 400, number)
        u, drawn, r = utility.mean(axis=0), weights @ utility, np.zeros(20)
        best = int(select(r[None], u[None], 0.1)[0])
        chosen = select(np.zeros_like(drawn), drawn, 0.1)
        found = _expected(best, chosen, r, u, np.zeros_like(drawn), drawn, 0.95)
        low, high = interval(drawn[:, best])
        naive += (low <= 0.5 <= high) / covered
        honest += (found["expected_low"] <= 0.5 <= found["expected_high"]) / covered
        bias.append(u[best] - 0.5)
        left.append(found["expected_utility"] - 0.5)
    assert naive < 0.7 < 0.85 < honest
    assert np.mean(left) < 0.5 * np.mean(bias)


def test_one_query_proves_nothing() -> None:
    found = tiny_result({("A", 1): ([0], [0.9]), ("B", 1): ([0], [0.1])}).recommend()
    assert found.lead is not None and found.lead[3] == 1
    assert "With 1 query the risk could be as high as 0.97" in found.notes[0]


def test_a_setting_that_finds_no_more_than_random_words_is_unmasked() -> None:
    useless, useful = [0.1, 0.0, 0.0, 0.1] * 5, [0.5, 0.6, 0.7, 0.6] * 5
    for utility, told in ((useless, True), (useful, False)):
        found = tiny_result({("A", 1): ([0] * 20, utility), ("Random", 0): ([0] * 20, [0.0, 0.1, 0.1, 0.0] * 5)})
        gain = found.recommend().gain
        assert gain is not None and gain[0] == pytest.approx(np.mean(utility) - 0.05)
        assert any("no more than random words" in note for note in found.recommend().notes) is told


def test_a_clear_lead_is_significant_and_its_interval_paired() -> None:
    easy = np.linspace(0.1, 0.9, 30)
    near = tiny_result({("A", 1): ([0] * 30, list(easy)), ("B", 1): ([0] * 30, list(easy - 0.02))}).recommend(
        max_risk=0.2
    )
    assert near.lead == pytest.approx((0.02, 0.02, 0.02, 2 / 2001))
    assert near.best is not None and near.best.utility_high - near.best.utility_low > 0.1  # unpaired, it would drown


# --- names, seeds and bad input ---


def test_attackers_are_told_apart_in_words() -> None:
    result = tiny_result(HAND, risk=("P@1", "R@20", "RR"))
    words = {
        name: result.recommend(max_risk=0.3, attacker=name).sentence for name in ("lazy", "active@20", "motivated")
    }
    assert "an attacker who looks at one guess finds" in words["lazy"]
    assert "an attacker who looks at 20 guesses finds" in words["active@20"]
    assert "reads on until the query comes, its mean reciprocal rank is 0.25" in words["motivated"]


def test_the_order_of_the_rows_does_not_matter() -> None:
    result = make_result(20, seeds=(3, 4))
    shuffled = Result(**{**vars(result), "scores": result.scores.sample(frac=1, random_state=2)})
    first, second = result.recommend(max_risk=0.2), shuffled.recommend(max_risk=0.2)
    assert first.best == second.best and first.runner_up == second.runner_up and first.notes == second.notes


def test_means_over_seeds_are_those_of_the_points() -> None:
    result = make_result(20, seeds=(3, 4))
    found = recommend(result, max_risk=0.2, measure="SetR").best
    points = result.points()
    points = points[(points["attacker"] == "active") & (points["measure"] == "SetR") & (points["risk"] <= 0.2)]
    points = points[points["strategy"] != "reference"]
    top = points.loc[points["utility"].idxmax()]
    assert found is not None and (found.mechanism, found.value) == (top["mechanism"], top["value"])
    assert (found.risk, found.utility) == pytest.approx((top["risk"], top["utility"]))


def test_fewer_variants_and_unsent_queries_are_told() -> None:
    found = tiny_result(HAND, variants=38.5, nothing=2).recommend(max_risk=0.3)
    assert "with 38.5 of 50 variants per query" in found.sentence and "For 2 of the queries nothing" in found.notes[-1]


@pytest.mark.parametrize(
    ("number", "limit", "text"),
    [
        (0.1004, 0.1, "0.1004"),
        (0.0996, 0.1, "0.0996"),
        (0.17, 0.1, "0.17"),
        (0.5, 0.5, "0.50"),
        (0.3999, 0.4, "0.3999"),
    ],
)
def test_rounding_keeps_the_side_of_the_limit(number: float, limit: float, text: str) -> None:
    assert _digits(number, limit) == text


@pytest.mark.parametrize(
    ("wishes", "part"),
    [
        ({"attacker": "curious"}, "no attacker 'curious'; the result has active"),
        ({"measure": "MAP"}, "no measure 'MAP'; the result has nDCG@10"),
        ({"system": "dense"}, "no system 'dense'; the result has bm25"),
        ({"max_risk": 10}, "max_risk must lie between 0 and 1"),
        ({"min_utility": -1}, "min_utility must lie between 0 and 1"),
        ({"level": 95}, "0.95"),
        ({"replicates": 0}, "replicates"),
    ],
)
def test_bad_wishes_say_the_fix(wishes: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=part) as refused:
        by_hand(**wishes)
    assert "secret" not in str(refused.value)


def test_results_that_cannot_be_judged_are_refused() -> None:
    with pytest.raises(InputError, match="no judgements"):
        make_result(judged=False).recommend()
    with pytest.raises(InputError, match="references alone"):
        make_result(mechanisms=REFERENCES).recommend()
