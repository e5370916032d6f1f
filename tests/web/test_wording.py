"""Guarantees in plain words."""

from quipukit.guarantees import ForAllVariants, LocalDP, MetricDP, NoGuarantee, Together, WithinGroup
from quipukit.web.wording import in_plain_words


def test_a_small_budget_is_a_factor() -> None:
    odds, words = in_plain_words(MetricDP(0.5), 2, 3)
    assert "The 2 texts that are sent shift" in odds and "a factor of 2.72 at most" in odds
    assert "all 3 of this query together spend 3." in words


def test_a_large_budget_is_no_limit_and_says_so() -> None:
    odds, _, weak = in_plain_words(MetricDP(10), 20, 5)
    assert "e^200 (practically no limit)" in odds and "too weak to protect anything by itself" in weak


def test_other_kinds() -> None:
    assert "any two of the words of one group" in in_plain_words(LocalDP(1, "the words of one group"), 1, 1)[0]
    assert in_plain_words(NoGuarantee("it keeps every word"), 5, 1) == ["Nothing is promised: it keeps every word."]
    assert any("topic is released" in one for one in in_plain_words(WithinGroup(50, "wordnet"), 1, 1))
    assert len(in_plain_words(Together((MetricDP(1), NoGuarantee("x"))), 1, 1)) == 3
    shared = in_plain_words(ForAllVariants(MetricDP(1, per="query")), 50, 1)
    assert len(shared) == 1 and "a factor of 2.72 at most" in shared[0]
