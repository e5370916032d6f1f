"""The frontier: members by hand and against brute force, who never counts, and what random words find."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.measures.frontier import frontier, pareto, pools_much, random_utilities, setting_names

NAN = float("nan")


def settings(*rows: tuple[str, float, float, float, float]) -> pd.DataFrame:
    """A table of mechanism, value, risk, utility and pooled share."""
    table = pd.DataFrame(rows, columns=["mechanism", "value", "risk", "utility", "pooled_share"])
    return table.assign(parameter=["" if name in ("Identity", "Random") else "epsilon" for name in table["mechanism"]])


def test_members_and_who_beats_the_others() -> None:
    table = frontier(
        settings(
            ("A", 1, 0.1, 0.3, 0.01),
            ("A", 5, 0.4, 0.6, 0.01),
            ("B", 1, 0.2, 0.2, 0.01),  # A@1 alone has less risk and more utility
            ("B", 5, 0.5, 0.3, 0.01),  # A@1 and A@5 beat it; A@5 finds most
            ("B", 9, 0.4, 0.6, 0.01),  # level with A@5: neither beats the other
            ("Identity", 0, 1.0, 0.9, 0.0),
            ("Random", 0, 0.0, 0.5, 0.01),  # beats B@1 and A@1, but is no member
        ),
        references=("Identity", "Random"),
    )
    assert table.loc[table["frontier"], "name"].tolist() == ["A@1", "A@5", "B@9"]
    assert table["beaten_by"].tolist() == ["", "", "A@1", "A@5", "", "", ""]
    assert table.loc[table["reference"], "name"].tolist() == ["Identity", "Random"]


def test_a_setting_that_pools_too_much_is_marked_and_beats_nobody() -> None:
    best = ("Cover", 200, 0.0, 0.9, 0.042)
    rows = [best, ("A", 1, 0.1, 0.3, 0.02), ("A", 5, 0.4, 0.6, NAN)]
    table = frontier(settings(*rows))
    assert table["pools_much"].tolist() == [True, False, False], "2 % is not more than 2 %; unknown is not much"
    assert table["frontier"].tolist() == [False, True, True] and not any(table["beaten_by"])
    assert table["would_be"].tolist() == [True, False, False]
    worse = frontier(settings(("Cover", 9, 0.5, 0.5, 0.042), *rows[1:]))
    assert not worse["would_be"].any() and not worse["beaten_by"].any()
    counted = frontier(settings((*best[:4], 0.02), *rows[1:]))
    assert counted["frontier"].tolist() == [True, False, False] and set(counted["beaten_by"]) == {"", "Cover@200"}
    assert pools_much([0.020001]).all()


def test_last_digits_beat_nobody() -> None:
    assert pareto(np.array([0.1, 0.1 + 1e-12]), np.array([0.3, 0.3])).all()
    assert not pareto(np.array([0.1, 0.1001]), np.array([0.3, 0.3])).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=1, max_size=10))
def test_every_counted_setting_is_a_member_or_beaten_by_one(rows: list[tuple[int, int, bool]]) -> None:
    table = frontier(
        settings(*(("A", place, r / 4, u / 4, 0.03 if much else 0.01) for place, (r, u, much) in enumerate(rows)))
    )
    members = table[table["frontier"]].set_index("name")
    for row in table.to_dict("records"):
        counted = [one for one in rows if not one[2]]
        own = (4 * row["risk"], 4 * row["utility"])
        beaten = any(r <= own[0] and u >= own[1] and (r, u) != own for r, u, _ in counted)
        assert row["frontier"] == (not row["pools_much"] and not beaten)
        assert bool(row["beaten_by"]) == (beaten and not row["pools_much"])
        if row["beaten_by"]:
            winner = members.loc[row["beaten_by"]]
            assert winner["risk"] <= row["risk"] and winner["utility"] >= row["utility"]


def test_need_is_the_larger_of_both() -> None:
    table = settings(("A", 1, 0.1, 0.3, 0.01), ("A", 5, 0.4, 0.6, 0.01), ("A", 9, 0.5, 0.7, 0.01))
    needs = frontier(table.assign(need_consensus=[0.2, 0.5, NAN], need_guess=[0.3, NAN, NAN]))["need"]
    assert needs.tolist()[:2] == [0.3, 0.5] and np.isnan(needs[2])
    assert frontier(table)["need"].isna().all()


def test_names_have_an_n_where_there_are_several() -> None:
    table = settings(("A", 1, 0.1, 0.3, 0.01), ("Identity", 0, 1.0, 0.6, 0.01))
    assert setting_names(table.assign(n=20)) == ["A@1", "Identity"]
    assert setting_names(table.assign(n=[1, 20])) == ["A@1, N = 1", "Identity, N = 20"]


def test_random_words_at_the_same_pool() -> None:
    table = pd.DataFrame(
        {
            "mechanism": ["A", "A", "A", "A", "Random", "Random"],
            "pooled": [50.0, 300.0, 430.0, 460.0, 400.0, 200.0],
            "utility": [0.5, 0.5, 0.5, 0.5, 0.08, 0.02],
        }
    )
    found = random_utilities(table)
    np.testing.assert_allclose(found[:3], [0.005, 0.05, 0.08])
    assert np.isnan(found[3]), "more than a tenth above the largest pool that was measured"
    assert np.isnan(random_utilities(table[:4])).all() and np.isnan(random_utilities(table[["mechanism"]])).all()
    assert found[4] == pytest.approx(0.08)
