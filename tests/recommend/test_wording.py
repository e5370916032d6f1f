"""The recommendation in sentences."""

from itertools import product

import pytest

from quipukit.guarantees import ASKED_AGAIN
from quipukit.recommend.wording import _digits
from tests.example_results import make_result
from tests.recommend.results import HAND, by_hand, tiny_result
from tests.report.results import swept


def test_where_nothing_fits_the_words_say_what_would() -> None:
    found = tiny_result({key: HAND[key] for key in (("A", 5.0), ("A", 9.0))}).recommend(max_risk=0.1)
    assert found.best is None and found.candidate is None
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


def test_no_sentence_says_use_of_a_setting_that_is_not_certified() -> None:
    few, kinds = ("CMP", "TEM", "AEA", "Identity"), set()
    for result, budget in product((make_result(43, mechanisms=few), make_result(200, mechanisms=few)), (0.05, 0.2)):
        for persona in ("lazy", "active", "motivated"):
            found = result.recommend(max_risk=budget, persona=persona)
            assert ("Use " in found.sentence) == (found.best is not None) == found.settings["certified"].any()
            assert found.best is None or found.best.risk_high <= budget + 1e-9
            kinds.add(found.best is None)
    assert kinds == {True, False}


def test_personas_are_told_apart_in_words() -> None:
    result = tiny_result(HAND, risk=("P@1", "R@20", "RR"))
    words = {name: result.recommend(max_risk=0.4, persona=name).sentence for name in ("lazy", "active@20", "motivated")}
    assert "an attacker who looks at one guess finds" in words["lazy"]
    assert "an attacker who looks at 20 guesses finds" in words["active@20"]
    assert "reads on until the query comes, its mean reciprocal rank is 0.25" in words["motivated"]


def test_fewer_variants_and_unsent_queries_are_told() -> None:
    found = tiny_result(HAND, variants=38.5, nothing=2).recommend(max_risk=0.3)
    assert "with 38.5 of 50 variants per query" in found.sentence and "For 2 of the queries nothing" in found.notes[-1]


def test_a_mechanism_with_a_number_of_its_own() -> None:
    """Cover sends its group, whatever N is, and asking again reveals nothing more."""
    promise = f"indistinguishable among 200 or more queries, {ASKED_AGAIN} (the group is released)"
    found = tiny_result(HAND, variants=225.0, guarantee=promise).recommend(max_risk=0.3)
    assert "with 225 variants per query" in found.sentence and "raise it" not in found.sentence
    assert f"The risk holds for 225 variants per query, {ASKED_AGAIN}." in found.sentence
    other = tiny_result(HAND, variants=225.0).recommend(max_risk=0.3)
    assert "The risk holds for 225 variants per query: more of them" in other.sentence


def test_the_risk_is_said_to_hold_for_the_n_of_the_setting() -> None:
    """In a sweep too: the N that is looked at, not the largest."""
    whole = tiny_result(HAND)
    assert "The risk holds for 50 variants per query" in whole.recommend(max_risk=0.3).sentence
    sweep = swept(whole, (1, 50))
    for n, told in ((1, "1 variant per query: more of them"), (50, "50 variants per query: more of them")):
        found = sweep.recommend(max_risk=0.3, n=n)
        assert found.best is not None and found.best.n == n
        assert f"The risk holds for {told}, as when a query is asked again, raise it." in found.sentence


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
