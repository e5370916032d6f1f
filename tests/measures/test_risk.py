"""Risk from ranks: the formulas by enumeration, ties, absence, smaller logs."""

import math
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.errors import FrameError, InputError
from quipukit.frames import RANKS, SCORES
from quipukit.measures.risk import (
    harmonic_difference,
    is_persona,
    mean_risk,
    persona_of,
    recall_curve,
    risk,
    risk_by_log_size,
    risk_label,
)
from tests.examples import examples
from tests.stat_checks import assert_binomial, assert_ks, refuted


def ranks(*counts: tuple[int, int], value: float = 5.0) -> pd.DataFrame:
    rows = [
        ("CMP", "epsilon", value, "QuIA", str(number), b + 1 + t / 2 if b >= 0 else math.inf, b, t)
        for number, (b, t) in enumerate(counts)
    ]
    return pd.DataFrame(rows, columns=list(RANKS.columns))


def of(scores: pd.DataFrame, measure: str) -> list[float]:
    return scores.loc[scores["measure"] == measure, "score"].tolist()


# --- the formulas ---


@pytest.mark.parametrize("k", [1, 2, 10, 25])
def test_expected_risks_are_the_means_over_all_places(k: int) -> None:
    counts = list(product(range(15), range(15)))
    places = [np.arange(b + 1, b + t + 2) for b, t in counts]
    scores = risk(ranks(*counts), k)
    assert of(scores, "P@1") == pytest.approx([(p == 1).mean() for p in places])
    assert of(scores, f"R@{k}") == pytest.approx([(p <= k).mean() for p in places])
    assert of(scores, "RR") == pytest.approx([(1 / p).mean() for p in places], rel=1e-13)


def test_optimistic_and_pessimistic_are_the_ends() -> None:
    counts = list(product(range(15), range(15)))
    for policy, places in (
        ("optimistic", [b + 1 for b, _ in counts]),
        ("pessimistic", [b + 1 + t for b, t in counts]),
    ):
        scores = risk(ranks(*counts), 5, policy)
        assert of(scores, "P@1") == [float(place == 1) for place in places]
        assert of(scores, "R@5") == [float(place <= 5) for place in places]
        assert of(scores, "RR") == [1 / place for place in places]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**6)), min_size=1), st.integers(1, 10**12))
@examples(20)
def test_the_policies_bracket_the_expectation(counts: list[tuple[int, int]], k: int) -> None:
    best, mean, worst = (risk(ranks(*counts), k, p)["score"] for p in ("optimistic", "expected", "pessimistic"))
    assert (best >= mean - 1e-15).all() and (mean >= worst - 1e-15).all() and best.between(0, 1).all()


def test_a_query_that_was_not_found_has_risk_0_and_is_counted() -> None:
    table = ranks((0, 0), (-1, 0), (3, 0), (-1, 0))
    assert of(risk(table), "P@1") == [1, 0, 0, 0]
    assert of(risk(table), "RR") == [1, 0, 0.25, 0]
    mean = mean_risk(table).iloc[0]
    assert (mean["found"], mean["queries"]) == (2, 4)
    assert (mean["P@1"], mean["P@1_found"]) == (0.25, 0.5)
    assert (mean["R@10"], mean["R@10_found"]) == (0.5, 1.0)
    assert (mean["mean_rank"], mean["median_rank"]) == (2.5, 2.5)


def test_nothing_found_is_risk_0_everywhere() -> None:
    table = ranks((-1, 0), (-1, 0))
    mean = mean_risk(table).iloc[0]
    assert mean["RR"] == 0 and math.isnan(mean["RR_found"]) and math.isnan(mean["mean_rank"])
    assert recall_curve(table, [1, 100])["recall"].tolist() == [0, 0]
    assert (risk_by_log_size(table, 10, [1, 10])[["P@1", "R@10", "RR"]] == 0).all(axis=None)


def test_scores_have_the_shape_of_scores() -> None:
    table = pd.concat([ranks((0, 0), (1, 2)), ranks((0, 0), (1, 2), value=10.0)])
    scores = risk(table)
    assert list(scores.columns) == list(SCORES.columns)
    assert len(scores) == 12 and set(scores["side"]) == {"risk"} and set(scores["attacker"]) == {"QuIA"}


def test_rows_in_another_order_give_the_same_scores() -> None:
    table = pd.concat([ranks((0, 3), (5, 0), (-1, 0)), ranks((9, 1), (2, 2), (0, 0), value=10.0)])
    keys = ["value", "qid", "measure"]
    expected = risk(table).set_index(keys)["score"]
    shuffled = risk(table.sample(frac=1, random_state=3)).set_index(keys)["score"]
    assert shuffled.loc[expected.index].tolist() == expected.tolist()


def test_the_callers_table_is_left_alone() -> None:
    table = ranks((0, 1), (-1, 0))
    before = table.copy()
    risk(table), mean_risk(table), recall_curve(table), risk_by_log_size(table, 9, [3])
    pd.testing.assert_frame_equal(table, before)


def test_the_recall_curve_holds_every_r_at_k_and_rises() -> None:
    table = ranks((0, 0), (4, 3), (20, 0), (-1, 0), (700, 90))
    curve = recall_curve(table)
    for k, recall in zip(curve["k"], curve["recall"], strict=True):
        assert recall == pytest.approx(mean_risk(table, k).iloc[0][f"R@{k}"])
    assert curve["recall"].is_monotonic_increasing


# --- harmonic numbers ---


@pytest.mark.parametrize("b", [0, 1, 30, 31, 32, 33, 750_000, 10**9, 10**15])
@pytest.mark.parametrize("steps", [1, 2, 31, 1000])
def test_differences_of_harmonic_numbers_keep_their_digits(b: int, steps: int) -> None:
    exact = math.fsum(1 / (b + i) for i in range(1, steps + 1))
    assert float(harmonic_difference(b, b + steps)) == pytest.approx(exact, rel=1e-13)


def test_the_naive_difference_loses_them() -> None:
    from scipy.special import digamma

    naive = digamma(10.0**15 + 2) - digamma(10.0**15 + 1)
    assert abs(naive * 1e15 - 1) > 0.1
    assert float(harmonic_difference(10**15, 10**15 + 1)) * 1e15 == pytest.approx(1, abs=1e-12)


# --- smaller logs ---


def test_the_whole_log_is_the_plain_risk() -> None:
    table = ranks((0, 0), (4, 3), (20, 0), (-1, 0), (70, 29))
    for policy in ("expected", "optimistic", "pessimistic"):
        plain, whole = mean_risk(table, 10, policy).iloc[0], risk_by_log_size(table, 100, [100], 10, policy).iloc[0]
        for measure in ("P@1", "R@10", "RR"):
            assert whole[measure] == pytest.approx(plain[measure], rel=1e-12)


def test_a_log_of_the_original_alone_gives_it_away() -> None:
    alone = risk_by_log_size(ranks((70, 3), (0, 0)), 100, [1]).iloc[0]
    assert alone[["P@1", "R@10", "RR"]].tolist() == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("total", [1, 2, 8])
def test_smaller_logs_by_enumerating_all_subsets(total: int, k: int) -> None:
    counts = [(b, t) for b, t in product(range(total), range(total)) if b + t < total]
    table = pd.concat([ranks(pair, value=float(number)) for number, pair in enumerate(counts)])
    for row in risk_by_log_size(table, total, range(1, total + 1), k).itertuples(index=False):
        b, t = counts[int(row.value)]
        found = []
        for subset in combinations(range(total - 1), row.log_size - 1):
            ahead, level = sum(i < b for i in subset), sum(b <= i < b + t for i in subset)
            # Ties broken at random in the subset: the same law as broken in the whole log before.
            places = np.arange(ahead + 1, ahead + level + 2)
            found.append(((places == 1).mean(), (places <= k).mean(), (1 / places).mean()))
        assert row[-3:] == pytest.approx(np.mean(found, axis=0).tolist(), rel=1e-12), (b, t, row.log_size)


@pytest.mark.heavy
@pytest.mark.statistical
def test_smaller_logs_by_simulation() -> None:
    """False alarms: 3e-6."""
    rng = np.random.default_rng(11)
    total, size, b, draws = 5000, 400, 37, 20_000
    ahead = np.array([(rng.choice(total - 1, size - 1, replace=False) < b).sum() for _ in range(draws)])
    p1, r3, rr = risk_by_log_size(ranks((b, 0)), total, [size], 3).iloc[0][["P@1", "R@3", "RR"]]
    # The twin counts five entries too few before the original.
    q1, q3, _ = risk_by_log_size(ranks((b - 5, 0)), total, [size], 3).iloc[0][["P@1", "R@3", "RR"]]
    for hits, p, q in (((ahead == 0).sum(), p1, q1), ((ahead < 3).sum(), r3, q3)):
        assert_binomial(int(hits), draws, p)
        assert refuted(assert_binomial, int(hits), draws, q)
    # A mean of numbers in [0, 1]: by Hoeffding it strays by more than this with a probability below 1e-6.
    margin = math.sqrt(math.log(2e6) / (2 * draws))
    assert abs((1 / (ahead + 1)).mean() - rr) < margin < abs(1 / (b + 1) - rr)


@pytest.mark.statistical
def test_random_ranks_give_harmonic_risk() -> None:
    """An attacker who ranks at random: E[RR] = H(M) / M and E[R@10] = 10 / M. False alarms: 2e-6."""
    rng = np.random.default_rng(12)
    size, queries = 200, 20_000
    table = ranks(*((int(b), 0) for b in rng.integers(0, size, queries)))
    scores = risk(table)
    expected = float(harmonic_difference(0, size)) / size
    margin = math.sqrt(math.log(2e6) / (2 * queries))
    assert abs(np.mean(of(scores, "RR")) - expected) < margin
    hits = int(sum(of(scores, "R@10")))
    assert_binomial(hits, queries, 10 / size)
    assert refuted(assert_binomial, hits, queries, 13 / size)
    # Inverse ranks smeared uniformly over their cells are uniform on [0, size].
    smeared = 1 / np.array(of(scores, "RR")) - rng.random(queries)
    assert_ks(smeared, lambda x: np.clip(x / size, 0, 1))
    assert refuted(assert_ks, smeared, lambda x: np.clip(x / (1.1 * size), 0, 1))


def test_a_large_log_keeps_its_digits() -> None:
    total, size = 750_000, 20_000
    scores = risk_by_log_size(ranks((0, 0)), total, [size]).iloc[0]
    assert scores[["P@1", "R@10", "RR"]].tolist() == pytest.approx([1, 1, 1], rel=1e-12)
    last = risk_by_log_size(ranks((total - 1, 0)), total, [size]).iloc[0]
    assert last[["P@1", "R@10"]].tolist() == [0, 0] and last["RR"] == pytest.approx(1 / size, rel=1e-9)


# --- names and bad input ---


def test_personas_have_the_papers_names() -> None:
    assert [persona_of(measure) for measure in ("P@1", "R@10", "RR")] == ["lazy", "active", "motivated"]
    assert persona_of("R@5") == "active@5"
    assert all(is_persona(persona_of(measure)) for measure in ("P@1", "R@10", "R@5", "RR"))
    assert not any(map(is_persona, ("QuIA", "", "Bayes lazy", "inactive")))


def test_a_risk_is_labeled_by_its_persona_and_by_its_attacker_where_there_are_several() -> None:
    assert risk_label("QuIA", "lazy", several=False) == "lazy"
    assert risk_label("MaxSim", "lazy", several=True) == "MaxSim lazy"


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: risk(ranks((0, 0)), 0), InputError, "k must"),
        (lambda: risk(ranks((0, 0)), 2.5), InputError, "k must"),
        (lambda: risk(ranks((0, 0)), policy="random"), InputError, "'pessimistic'"),
        (lambda: risk(ranks((-2, 0))), FrameError, "-1 (not found)"),
        (lambda: risk(ranks((0, -1))), FrameError, "'tied'"),
        (lambda: risk(ranks((0, 0)).drop(columns="better")), FrameError, "'better'"),
        (lambda: risk(pd.concat([ranks((0, 0)), ranks((1, 0))])), FrameError, "two rows"),
        (lambda: recall_curve(ranks((0, 0)), []), InputError, "no k"),
        (lambda: risk_by_log_size(ranks((9, 0)), 9, [3]), InputError, "rank 10"),
        (lambda: risk_by_log_size(ranks((3, 0)), 9, [10]), InputError, "from 1 to 9"),
        (lambda: risk_by_log_size(ranks((3, 0)), 9, [0]), InputError, "at least 1"),
    ],
)
def test_bad_input_says_the_fix(call, error, part) -> None:
    with pytest.raises(error, match=part.replace("(", r"\(").replace(")", r"\)")):
        call()
