"""What a recommendation holds."""

from tests.recommend.results import by_hand


def test_a_choice_is_named_as_a_spec_and_in_words() -> None:
    best = by_hand(max_risk=0.9).best
    assert best is not None
    assert best.name.startswith(f"{best.mechanism}@") and f"at {best.parameter} " in best.words
    assert best.words.endswith(f"{best.n} variants per query") or "of" in best.words


def test_the_front_is_in_order_of_risk() -> None:
    advice = by_hand(max_risk=0.9)
    assert advice.front["risk"].is_monotonic_increasing and advice.front["utility"].is_monotonic_increasing
    assert 1 < len(advice.front) < len(advice.settings)
