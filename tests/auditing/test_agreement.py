"""Draws against the law: a sampler that does another thing than its law is noticed."""

import pytest

import quipukit as qk
from quipukit.auditing.agreement import agreement_check
from quipukit.auditing.draws import single
from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED
from quipukit.mechanisms.base import Mechanism
from tests.auditing.twins import OtherSampler, PercentileCut, UnknownVerbatim, vocabulary
from tests.covers.pools import partition


def check(mechanism: Mechanism, *inputs: str):  # type: ignore[no-untyped-def]
    return agreement_check(mechanism, single(mechanism, 1, "law"), inputs, draws=600, alarm=1e-4)


@pytest.mark.statistical
@pytest.mark.parametrize("spec", ["SanText@3", "TEM@3", "CusText(k=5)@3", "SanText+@3", "Random", "WBB(k=2, n=3)@3"])
def test_the_built_in_samplers_follow_their_laws(spec: str) -> None:
    done = check(qk.mechanism(spec, vocabulary()), "cat", "the", "qqzzxv", "two words")
    assert done.verdict == NOT_VIOLATED and done.note == "3 inputs"


@pytest.mark.statistical
def test_queries_follow_their_law() -> None:
    assert check(qk.mechanism("QueryExp@5", cover=partition()), "cat", "what is a tax").verdict == NOT_VIOLATED
    assert check(PercentileCut(epsilon=5, cover=partition()), "cat").verdict == NOT_VIOLATED  # wrong, but not in this


def test_a_sampler_that_does_another_thing_is_noticed() -> None:
    done = check(OtherSampler(epsilon=3, vectors=vocabulary()), "cat", "pain")
    assert done.verdict == VIOLATED and "where the law says" in done.finding.evidence
    done = check(UnknownVerbatim(epsilon=3, vectors=vocabulary()), "qqzzxv")
    assert done.verdict == VIOLATED and done.finding.event == "the output is 'qqzzxv'"
    assert done.finding.evidence == "300 of 300 draws where the law says 0.0"


def test_without_a_law_nothing_is_compared() -> None:
    done = check(qk.mechanism("SanText(oov='gaussian')@3", vocabulary()), "qqzzxv")
    assert done.verdict == NOT_VIOLATED and done.note == "no input with a closed form"
