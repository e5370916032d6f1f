"""The check of post-processing: order, number of words, and inputs that are the same to the mechanism."""

import pytest

import quipukit as qk
from quipukit.auditing.postprocessing import postprocessing_check
from quipukit.auditing.toys import on_toy, toy_vectors
from quipukit.mechanisms.base import Mechanism
from tests.auditing import twins


def check(mechanism: Mechanism | str, seed: int = 7, draws: int = 500):  # type: ignore[no-untyped-def]
    one = qk.mechanism(mechanism, vectors=toy_vectors(1))
    return postprocessing_check(on_toy(one, 1)[0].for_variants(1), draws=draws, alarm=1e-3, seed=seed)  # type: ignore[arg-type]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["CMP", "VickreyMhl", "SanText", "TEM"])
def test_what_is_right_is_not_flagged(name: str) -> None:
    """An alarm rate of 1e-3 for each; the seeds are fixed."""
    for options in ("", "(shuffle=True)", "(shuffle=True, length='bins:4,8')"):
        done = check(f"{name}{options}@3")
        assert done.verdict == "not violated", done.sentence()
        assert "for 2 of 2 pairs" in done.note
        assert ("alphabetical order" in done.note) == bool(options) and ("of the bin" in done.note) == (
            "bins" in options
        )


def test_words_that_keep_their_order_are_flagged() -> None:
    twin = twins.NotShuffled(epsilon=3, shuffle=True, vectors=toy_vectors(1))
    done = check(twin, draws=100)
    assert done.verdict == "violated" and "the order depends on the query" in done.sentence()


def test_a_number_of_words_outside_the_bin_is_flagged() -> None:
    twin = twins.NotShuffled(epsilon=1e-3, shuffle=True, length="bins:4,8", vectors=toy_vectors(1))
    done = postprocessing_check(twin, draws=20, alarm=1e-12, seed=7)  # the order alone is too little to see
    assert done.verdict == "violated" and "[3] words, where the bin has 4" in done.sentence()


def test_what_looks_at_the_query_again_does_not_come_out_the_same() -> None:
    done = check(twins.KeepsCase(epsilon=3, vectors=toy_vectors(1)))
    assert "for 1 of 2 pairs" in done.note
    done = check(twins.UnknownVerbatim(epsilon=3, vectors=toy_vectors(1)))
    assert "for 1 of 2 pairs" in done.note


@pytest.mark.statistical
@pytest.mark.heavy
def test_it_is_part_of_an_audit() -> None:
    twin = twins.NotShuffled(epsilon=3, shuffle=True, vectors=toy_vectors(1))
    done = qk.audit(twin, draws=1000)
    assert "post-processing" in [one.name for one in done.checks if one.verdict == "violated"], str(done)
    right = qk.audit("SanText(shuffle=True)@3", vectors=toy_vectors(1), draws=1000)
    assert next(one.verdict for one in right.checks if one.name == "post-processing") == "not violated"
