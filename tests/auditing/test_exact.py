"""The exact audit: the same as brute force, and infinite where supports differ."""

import math

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.claims import Claims, claims_of
from quipukit.auditing.exact import exact_check, sample_inputs
from quipukit.auditing.findings import HOLDS, NOTHING_CLAIMED, VIOLATED
from quipukit.auditing.laws import log_law
from quipukit.guarantees import MetricDP
from quipukit.mechanisms.base import Mechanism
from tests.auditing.twins import PercentileCut, SoldBoxes, TopK, vocabulary
from tests.covers.pools import partition

pytestmark = pytest.mark.heavy  # not in make quick


def check(mechanism: Mechanism, claims: Claims | None = None, **options: int):  # type: ignore[no-untyped-def]
    return exact_check(mechanism, claims or claims_of(mechanism), **{"inputs": 100, "seed": 1, **options})


def brute_force(mechanism: Mechanism, claims: Claims) -> tuple[float, float]:
    """Return the largest loss minus claim, and the largest loss by claim, pair by pair and output by output."""
    texts = sample_inputs(mechanism, claims, 100, 1)
    excess, used = -math.inf, 0.0
    for one in texts:
        for other in texts:
            claim = claims.loss(one, other)
            if one == other or claim == math.inf:
                continue
            for word in mechanism.vectors.words:  # type: ignore[attr-defined]
                p, q = mechanism.log_prob(word, one), mechanism.log_prob(word, other)
                if p > -math.inf:
                    excess = max(excess, p - q - claim)
                    used = max(used, (p - q) / claim if claim else 0.0)
    return excess, used


@pytest.mark.parametrize("spec", ["SanText@3", "TEM@3", "CusText(k=5)@3", "SanText+@3", "Random"])
def test_it_agrees_with_brute_force_where_the_claim_holds(spec: str) -> None:
    mechanism = qk.mechanism(spec, vocabulary())
    excess, used = brute_force(mechanism, claims_of(mechanism))
    done = check(mechanism)
    assert done.verdict == HOLDS and excess <= 1e-9
    assert done.finding.loss == pytest.approx(used * done.finding.claimed, abs=1e-9)


@pytest.mark.parametrize("spec", ["SanText@3", "TEM@3"])
def test_it_agrees_with_brute_force_where_the_claim_is_half_of_the_truth(spec: str) -> None:
    mechanism = qk.mechanism(spec, vocabulary())
    half = claims_of(mechanism, MetricDP(1.5))
    done = check(mechanism, half)
    assert done.verdict == VIOLATED
    assert done.finding.excess == pytest.approx(brute_force(mechanism, half)[0]) and done.finding.excess > 0.1


def test_the_counter_example_is_what_the_mechanism_says() -> None:
    mechanism = qk.mechanism("SanText@3", vocabulary())
    finding = check(mechanism, claims_of(mechanism, MetricDP(1))).finding
    output = finding.event.split("'")[1]
    assert finding.loss == pytest.approx(
        mechanism.log_prob(output, finding.one) - mechanism.log_prob(output, finding.other)
    )
    assert finding.claimed == pytest.approx(claims_of(mechanism, MetricDP(1)).loss(finding.one, finding.other))


@pytest.mark.parametrize(
    "wrong", [TopK(epsilon=3, k=5, vectors=vocabulary()), SoldBoxes(epsilon=3, k=2, n=3, vectors=vocabulary())]
)
def test_supports_that_differ_are_an_infinite_loss(wrong: Mechanism) -> None:
    finding = check(wrong).finding
    assert finding.loss == math.inf and "against 0" in finding.evidence
    output = finding.event.split("'")[1]
    assert wrong.log_prob(output, finding.other) == -math.inf < wrong.log_prob(output, finding.one)


def test_wide_laws_are_compared_over_a_sample_of_the_outputs_and_then_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = qk.mechanism("SanText@3", vocabulary())
    whole = check(mechanism, claims_of(mechanism, MetricDP(1)))
    monkeypatch.setattr("quipukit.auditing.exact._SPARSE", 3)  # as if fourteen words were many
    cut = check(mechanism, claims_of(mechanism, MetricDP(1)))
    assert cut.finding.excess == pytest.approx(whole.finding.excess) and cut.pairs == whole.pairs
    wrong = PercentileCut(epsilon=5, cover=partition())
    assert check(wrong, inputs=40).finding.loss == math.inf


def test_a_right_law_over_queries_holds() -> None:
    done = check(qk.mechanism("QueryExp@5", cover=partition()), inputs=60)
    assert done.verdict == HOLDS and 0.3 < done.finding.loss / done.finding.claimed <= 1


def test_of_a_larger_vocabulary_a_sample_is_taken() -> None:
    points = np.random.default_rng(5).normal(size=(400, 3))
    points[7] = points[8]
    vectors = qk.Vectors([f"w{number}" for number in range(400)], points)
    for spec in ("SanText@3", "CusText@3"):
        mechanism = qk.mechanism(spec, vectors)
        texts = sample_inputs(mechanism, claims_of(mechanism), 60, 1)
        assert len(texts) == len(set(texts)) == 60 and {"w7", "w8", "w0"} <= set(texts)
        done = check(mechanism, inputs=60)
        assert done.verdict == HOLDS and done.pairs > 100


def test_without_a_claim_the_loss_is_shown() -> None:
    done = check(qk.mechanism("CusText(mapping='topk', k=3)@3", vocabulary()))
    assert done.verdict == NOTHING_CLAIMED and done.finding.loss == math.inf == done.finding.claimed


def test_one_word_leaves_nothing_to_lose() -> None:
    done = check(qk.mechanism("SanText@3", qk.Vectors(["only"], [[1.0]])))
    assert done.verdict == HOLDS and done.finding.loss == 0


def test_laws_are_in_logarithms_and_add_up_to_one() -> None:
    far = qk.Vectors(["here", "there"], [[0.0], [1000.0]])
    law = log_law(qk.mechanism("SanText@10", far), "here")
    assert law.logs.tolist() == pytest.approx([0.0, -5000.0])  # no probability: exp(-5000) is 0 to a computer
    kept = log_law(qk.mechanism("SanText+(p=0.2)@3", vocabulary()), "the")
    assert np.exp(kept.logs).sum() == pytest.approx(1) and math.exp(kept.at(np.array([0]))[0]) == pytest.approx(0.8)
