"""Means and intervals of risk against the number of variants seen."""

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit.attackers.growth import GROWTH
from quipukit.measures.growth import COLUMNS, risk_growth
from quipukit.measures.intervals import mean_intervals
from quipukit.measures.strongest import STRONGEST, strongest_intervals


def growth_table(ranks, values=(5.0,)):
    """Return a Growth table from {(attacker, seen): places of the originals}, equal at every value."""
    rows = [
        ("CMP", "epsilon", value, attacker, f"q{number}", place, place - 1, 0, seen)
        for value in values
        for (attacker, seen), places in ranks.items()
        for number, place in enumerate(places)
    ]
    return pd.DataFrame(rows, columns=list(GROWTH.columns))


TABLE = growth_table(
    {
        ("QuIA", 1): [1, 20, 30, 40],
        ("Words", 1): [12, 20, 30, 40],
        ("QuIA", 5): [1, 20, 30, 40],
        ("Words", 5): [2, 3, 1, 40],
    },
    values=(5.0, 2.0),
)


def curve(table, attacker, measure, value=5.0):
    rows = table[(table["attacker"] == attacker) & (table["measure"] == measure) & (table["value"] == value)]
    return rows.reset_index(drop=True)


def test_means_after_each_number_of_variants():
    table = risk_growth(TABLE)
    assert list(table.columns) == COLUMNS and set(table["measure"]) == {"P@1", "R@10", "RR"}
    assert curve(table, "QuIA", "R@10")[["seen", "risk"]].values.tolist() == [[1, 0.25], [5, 0.25]]
    assert curve(table, "Words", "R@10")["risk"].tolist() == [0.0, 0.75]
    assert curve(table, "Words", "RR")["risk"].tolist() == pytest.approx(
        [np.mean([1 / 12, 1 / 20, 1 / 30, 1 / 40]), np.mean([1 / 2, 1 / 3, 1, 1 / 40])]
    )
    assert curve(risk_growth(TABLE, k=1), "Words", "R@1")["risk"].tolist() == [0.0, 0.25]


def test_the_strongest_is_chosen_at_each_number_of_variants():
    own = curve(risk_growth(TABLE), STRONGEST, "R@10")
    assert own["risk"].tolist() == [0.25, 0.75] and own["found_by"].tolist() == ["QuIA", "Words"]


def test_intervals_are_exact_and_those_of_the_strongest_simultaneous():
    table = risk_growth(TABLE)
    first, second = np.array([[1.0, 0, 0, 0]]).T, np.array([[1.0, 1, 1, 0]]).T
    low, high = mean_intervals(second, hits=True)
    assert curve(table, "Words", "R@10")[["low", "high"]].values[1].tolist() == [low[0], high[0]]
    low, high = strongest_intervals([first, second], True)
    assert curve(table, STRONGEST, "R@10")[["low", "high"]].values[1].tolist() == [low[0], high[0]]
    assert low[0] < curve(table, "Words", "R@10")["low"][1], "wider than the interval of one attacker"
    own = curve(table, STRONGEST, "RR")
    assert ((own["low"] < own["risk"]) & (own["risk"] < own["high"])).all()


def test_order_of_rows_and_settings():
    table = risk_growth(TABLE)
    assert list(dict.fromkeys(table["value"])) == [5.0, 2.0]
    for _, own in table.groupby(["value", "measure", "attacker"], sort=False):
        assert own["seen"].tolist() == [1, 5] and np.ptp(own.index) == 1, "a curve is in one piece"
    shuffled = risk_growth(TABLE.sample(frac=1, random_state=3))
    keys = COLUMNS[:6]
    pd.testing.assert_frame_equal(
        shuffled.sort_values(keys).reset_index(drop=True)[["risk", "low", "high"]],
        table.sort_values(keys).reset_index(drop=True)[["risk", "low", "high"]],
    )


def test_one_attacker_has_no_rival_and_nothing_is_nothing():
    one = TABLE[TABLE["attacker"] == "QuIA"]
    assert set(risk_growth(one)["attacker"]) == {"QuIA"}
    assert risk_growth(GROWTH.empty()).empty and list(risk_growth(GROWTH.empty()).columns) == COLUMNS
    assert qk.risk_growth is risk_growth


def test_an_original_that_was_not_found_counts_zero():
    lost = TABLE.assign(better=TABLE["better"].where(TABLE["qid"] != "q0", -1))
    assert curve(risk_growth(lost), "QuIA", "R@10")["risk"].tolist() == [0.0, 0.0]
