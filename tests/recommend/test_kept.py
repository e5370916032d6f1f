"""What a setting keeps of what the original finds."""

from dataclasses import replace

import pytest

from tests.recommend.results import HAND, tiny_result


def test_what_is_kept_is_a_share_of_the_original_among_as_many_documents() -> None:
    """Identity finds 0.8 with one list; among as many documents as A@5 pools the original finds 0.9, not 0.8."""
    found = tiny_result(HAND, ceilings={("A", 5.0): [0.9] * 800, ("A", 1.0): [0.85] * 800}).recommend(max_risk=0.3)
    assert found.best is not None and found.best.name == "A@5"
    assert found.best.kept == pytest.approx(0.6 / 0.9) and found.original == pytest.approx(0.8)
    shares = found.settings.set_index(["mechanism", "value"])["kept"]
    assert shares["A", 1.0] == pytest.approx(0.2 / 0.85) and shares["B", 2.0] == pytest.approx(0.5 / 0.8)
    assert "users keep 67 % of the search quality" in found.sentence


def test_in_results_of_earlier_versions_no_share_is_known() -> None:
    result = tiny_result(HAND)
    old = replace(result, scores=result.scores[result.scores["side"] != "ceiling"].reset_index(drop=True))
    found = old.recommend(max_risk=0.3)
    assert found.best is not None and found.best.kept is None and found.original == pytest.approx(0.8)


def test_without_the_original_utility_is_told_as_it_is() -> None:
    found = tiny_result({key: HAND[key] for key in (("A", 1.0), ("A", 5.0))}).recommend(max_risk=0.3)
    assert found.best.kept is None and "users reach nDCG@10 0.60" in found.sentence  # type: ignore[union-attr]
