"""Points: from scores per query, and from tables of users and of earlier versions."""

import pandas as pd
import pytest

from quipukit.errors import FrameError, InputError
from quipukit.frames import POINTS
from quipukit.measures.points import points, points_frame
from tests.measures.simulated import scores

BARE = pd.DataFrame({"mechanism": ["A", "A"], "value": [1, 2], "risk": [0.1, 0.2], "utility": [0.3, 0.4]})


def test_points_are_means_in_parameter_order() -> None:
    risks = scores("risk", "P@1", {("A", 10): [1, 0], ("A", 5): [0, 0]})
    utilities = scores("utility", "nDCG@10", {("A", 10): [0.5, 0.7], ("A", 5): [0.1, 0.3]})
    found = points(risks, utilities, "wordnet", {"A": "sampling"})
    assert list(found.columns) == list(POINTS.columns)
    assert found["value"].tolist() == [5, 10]
    assert found["risk"].tolist() == [0, 0.5] and found["utility"].tolist() == pytest.approx([0.2, 0.6])
    assert (
        set(found["attacker"]) == {"QuIA"}
        and set(found["persona"]) == {"lazy"}
        and set(found["strategy"]) == {"sampling"}
    )


def test_what_may_be_absent_is_empty() -> None:
    table = points_frame(BARE)
    assert list(table.columns) == list(POINTS.columns)
    assert (table[["collection", "strategy", "parameter", "attacker", "persona", "measure"]] == "").all(axis=None)
    assert set(table["hides_more"]) == {"smaller"}


@pytest.mark.parametrize(
    ("held", "attacker", "persona"),
    [
        ("lazy", "QuIA", "lazy"),
        ("active@20", "QuIA", "active@20"),
        ("Bayes motivated", "Bayes", "motivated"),
        ("QuIA", "QuIA", ""),
        ("somebody else", "somebody else", ""),
        ("", "", ""),
    ],
)
def test_a_table_of_an_earlier_version_held_the_persona_as_attacker(held: str, attacker: str, persona: str) -> None:
    table = points_frame(BARE.assign(attacker=held))
    assert set(table["attacker"]) == {attacker} and set(table["persona"]) == {persona}


def test_a_table_with_personas_is_left_as_it_is() -> None:
    table = points_frame(BARE.assign(attacker="lazy", persona="active"))
    assert set(table["attacker"]) == {"lazy"} and set(table["persona"]) == {"active"}


def test_equal_settings_are_told_apart_by_attacker_and_persona() -> None:
    both = pd.concat([BARE.assign(attacker=who, persona=how) for who in ("QuIA", "B") for how in ("lazy", "active")])
    assert len(points_frame(both)) == 8
    with pytest.raises(FrameError, match=r"two rows with .*attacker=QuIA, persona=lazy"):
        points_frame(pd.concat([both, both]))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (BARE.assign(risk=[0.1, 2]), "A at 2: risk is 2"),
        (BARE.assign(utility=[None, 0.1]), "A at 1: utility is nan"),
        (BARE.drop(columns="value"), "needs column 'value'"),
        (BARE.iloc[:0], "has no row; give one per setting"),
    ],
)
def test_faults_are_named(table: pd.DataFrame, words: str) -> None:
    with pytest.raises(InputError, match=words):
        points_frame(table)
