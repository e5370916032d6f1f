"""Ranks after fewer variants: random subsets, nested, of nothing but the setting and the query."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.growth import growth_ranks, random_places, sizes_below
from quipukit.attackers.panel import Panel
from quipukit.errors import InputError
from tests.attackers.fakes import Overlap
from tests.stat_checks import assert_binomial, refuted

VARIANTS = 10
QUERIES = {f"q{number}": f"alpha{number} beta{number}" for number in range(30)}
ASKED = pd.DataFrame({"qid": list(QUERIES), "query": list(QUERIES.values())})
LOG = [*QUERIES.values(), "gamma delta", "epsilon zeta"]


def one_leak(queries=QUERIES, variants=VARIANTS, value=5.0):
    """Return obfuscated queries: the fourth variant of each is the query itself, the others say nothing."""
    rows = [
        (qid, variant, text if variant == 3 else f"noise {variant}", "Leaky", "epsilon", value)
        for qid, text in queries.items()
        for variant in range(variants)
    ]
    return pd.DataFrame(rows, columns=["qid", "variant", "query", "mechanism", "parameter", "value"])


@pytest.fixture(scope="module")
def report():
    return qk.attack_report(one_leak(), ASKED, LOG, attackers=[Overlap()])


def chosen(obfuscated, size):
    """Return the variants of every query that are seen."""
    rows = obfuscated[random_places(obfuscated) < size]
    return {qid: set(own["variant"]) for qid, own in rows.groupby("qid")}


def test_subsets_are_nested_and_of_the_size_asked_for():
    sent, before = one_leak(), {}
    for size in (1, 2, 5, 10):
        subsets = chosen(sent, size)
        assert {len(own) for own in subsets.values()} == {size} and set(subsets) == set(QUERIES)
        assert all(before.get(qid, set()) <= own <= set(range(VARIANTS)) for qid, own in subsets.items())
        before = subsets
    # Not the same variants for all queries, and not the first ones.
    assert len({frozenset(own) for own in chosen(sent, 2).values()}) > 10


def test_a_subset_depends_on_its_setting_and_query_alone():
    sent = one_leak()
    alone = chosen(sent[sent["qid"] == "q7"], 2)["q7"]
    shuffled = sent.sample(frac=1, random_state=1)
    beside = pd.concat([one_leak(value=20.0), shuffled], ignore_index=True)
    assert chosen(shuffled, 2)["q7"] == alone
    assert chosen(beside[beside["value"] == 5.0], 2)["q7"] == alone
    places = pd.Series(random_places(beside), beside.index)
    rows = beside[(beside["value"] == 5.0) & (beside["qid"] == "q7")]
    assert set(rows["variant"][places[rows.index] < 2]) == alone
    # Settings have orders of their own.
    assert chosen(one_leak(value=20.0), 2) != chosen(sent, 2)


@pytest.mark.statistical
def test_the_share_found_is_the_share_seen():
    """One variant gives the query away: it is found with probability n / N. False alarms: 3e-6."""
    many = {f"q{number}": "text" for number in range(4000)}
    places = random_places(one_leak(many))[3::VARIANTS]  # of the variant that leaks
    for size in (1, 5, 8):
        found = int((places < size).sum())
        assert_binomial(found, len(many), size / VARIANTS)
    # Draws with repetition see fewer different variants; the check notices.
    draws = np.random.default_rng(1).integers(VARIANTS, size=(len(many), 5))
    assert refuted(assert_binomial, int((draws == 3).any(axis=1).sum()), len(many), 5 / VARIANTS)


def test_an_attacker_finds_the_query_where_the_leak_is_seen(report):
    growth = report.growth()
    assert sorted(set(growth["seen"])) == [1, 2, 5, 10]
    for size in (1, 2, 5):
        subsets = chosen(one_leak(), size)
        own = growth[growth["seen"] == size]
        found = dict(zip(own["qid"], (own["better"] == 0) & (own["tied"] == 0), strict=True))
        assert found == {qid: 3 in subset for qid, subset in subsets.items()}


def test_all_variants_are_the_attack_itself(report):
    # As a subset of all, not as a copy of the ranks.
    whole = growth_ranks(report.panel, one_leak(), ASKED, [VARIANTS]).drop(columns="seen")
    pd.testing.assert_frame_equal(whole, report.ranks)
    growth = report.growth([3])
    copied = growth[growth["seen"] == VARIANTS].drop(columns="seen").reset_index(drop=True)
    pd.testing.assert_frame_equal(copied, report.ranks)


def test_a_query_with_fewer_variants_has_all_of_them_seen():
    sent = one_leak()
    sent = sent[(sent["qid"] != "q1") | (sent["variant"].isin([3, 4]))]
    subsets = chosen(sent, 5)
    assert subsets["q1"] == {3, 4} and len(subsets["q2"]) == 5


def test_texts_are_seen_in_the_order_of_the_variants():
    seen = []

    class Noting(Overlap):
        name = "Noting"

        def scores(self, sent):
            seen.append([int(text.split()[1]) if text.startswith("noise") else 3 for text in sent.texts])
            return super().scores(sent)

    panel = Panel([Noting()], qk.read_log(LOG))
    growth_ranks(panel, one_leak().sample(frac=1, random_state=2), ASKED, [4])
    assert len(seen) == len(QUERIES) and all(len(own) == 4 and own == sorted(own) for own in seen)


def test_sizes():
    assert sizes_below(20) == [1, 2, 5, 10] and sizes_below(10, [7, 3, 7, 40]) == [3, 7] and sizes_below(1) == []
    with pytest.raises(InputError, match="at least 1"):
        sizes_below(10, [0])


def test_settings_that_share_a_budget_have_no_curve(report):
    # Of fewer variants each would have had more of it: a part of fifty is not what is sent at ten.
    shared = one_leak(value=20.0).assign(mechanism="Leaky(budget='total')")
    both = qk.attack_report(pd.concat([one_leak(), shared], ignore_index=True), ASKED, LOG, attackers=[Overlap()])
    assert set(both.ranks["mechanism"]) == {"Leaky", "Leaky(budget='total')"}
    assert set(both.growth()["mechanism"]) == {"Leaky"}
    pd.testing.assert_frame_equal(both.growth(), report.growth())
