"""Streams: what a seed fixes, and what must not be shared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.findings import NOT_VIOLATED, VIOLATED, Check
from quipukit.auditing.streams import dependence, streams_check
from quipukit.mechanisms.base import Mechanism, OneGenerator
from quipukit.mechanisms.cmp import CMP
from tests.auditing.twins import Stuck
from tests.covers.pools import partition

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])


def check(mechanism: Mechanism, *texts: str) -> Check:
    return streams_check(mechanism, texts or ("cat", "dog"), draws=300, alarm=1e-4, seed=1)  # type: ignore[arg-type]


@pytest.mark.statistical
@pytest.mark.parametrize("spec", ["CMP@1", "SanText@1", "VickreyCMP@1"])
def test_the_built_in_mechanisms_share_nothing(spec: str) -> None:
    done = check(qk.mechanism(spec, LINE))
    assert done.verdict == NOT_VIOLATED, done.sentence()
    assert done.note == (
        "300 draws each: another seed, another query, another query id, another variant, another setting"
    )


def test_a_group_has_no_variants_to_compare() -> None:
    done = check(qk.mechanism("Cover@10", cover=partition()), "cat", "tax")
    assert done.verdict == NOT_VIOLATED and "variant" not in done.note


def test_noise_that_variants_share_is_noticed() -> None:
    done = check(Stuck(epsilon=1, vectors=LINE))
    assert done.verdict == VIOLATED and done.finding.event == "the noise is shared with another variant"


@dataclass(frozen=True, kw_only=True)
class Unseeded(CMP):
    """It takes its noise from elsewhere."""

    @classmethod
    def obfuscate_batch(cls, group: Any, queries: Any, n: int, streams: Any, tick: Any = lambda _: None) -> Any:
        return super().obfuscate_batch(group, queries, n, OneGenerator(np.random.default_rng()), tick)


@dataclass(frozen=True, kw_only=True)
class Constant(CMP):
    """It takes its noise from a generator of its own, with a fixed seed."""

    @classmethod
    def obfuscate_batch(cls, group: Any, queries: Any, n: int, streams: Any, tick: Any = lambda _: None) -> Any:
        return super().obfuscate_batch(group, queries, n, OneGenerator(np.random.default_rng(1)), tick)


def test_noise_of_its_own_is_noticed() -> None:
    done = check(Unseeded(epsilon=1, vectors=LINE))
    assert done.verdict == VIOLATED and done.finding.event == "the same seed gives other texts"
    done = check(Constant(epsilon=0.3, vectors=LINE))
    assert done.verdict == VIOLATED and done.finding.event in (
        "without a seed, the same texts come again",
        "the noise is shared with another seed",
    )


@pytest.mark.statistical
def test_dependence_is_a_p_value() -> None:
    rng = np.random.default_rng(1)
    rows = [[(str(one),) for one in rng.integers(0, 3, 200)] for _ in range(2)]
    assert dependence(*rows)[0] > 1e-4 > dependence(rows[0], rows[0])[0]
    assert dependence([("a",)] * 10, [("b",)] * 10)[0] == 1
