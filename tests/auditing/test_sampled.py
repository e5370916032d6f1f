"""The statistical audit: bounds below the truth, alarms at the stated rate, and the largest loss that could be seen."""

import math

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.claims import Nothing, claims_of
from quipukit.auditing.draws import at_values, several, single
from quipukit.auditing.events import largest_bound
from quipukit.auditing.findings import NOT_VIOLATED, NOTHING_CLAIMED, VIOLATED
from quipukit.auditing.outcomes import Outcome
from quipukit.auditing.pairs import Pair
from quipukit.auditing.sampled import sampled_check
from quipukit.auditing.toys import on_toy, toy_pairs
from quipukit.guarantees import MetricDP
from tests.auditing.twins import HalfClaimed, LooksAgain, Renormalized, vocabulary

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])
PAIRS = [Pair("near", "cat", "dog"), Pair("far", "cat", "fish"), Pair("unknown", "qqzzxv", "zzqqvx")]


@pytest.mark.statistical
def test_no_bound_exceeds_the_exact_loss() -> None:
    mechanism = qk.mechanism("SanText@2", LINE)
    draw = single(mechanism, 1, "test")
    for pair in PAIRS[:2]:
        done = sampled_check("it", draw, claims_of(mechanism), [pair], draws=4000, alarm=1e-3)
        one, other = done.finding.one, done.finding.other
        exact = max(mechanism.log_prob(word, one) - mechanism.log_prob(word, other) for word in LINE.words)
        # With probability 0.999; and not far below, or it would be of no use.
        assert 0.5 * exact < done.finding.loss <= exact


@pytest.mark.statistical
def test_a_claim_is_refuted_from_above_its_true_loss_and_no_lower() -> None:
    mechanism = qk.mechanism("CMP@2", LINE)
    draw = single(mechanism, 1, "test")
    verdicts = [
        sampled_check("it", draw, claims_of(mechanism, MetricDP(claim)), PAIRS, draws=4000, alarm=1e-3).verdict
        for claim in (0.5, 2)
    ]
    assert verdicts == [VIOLATED, NOT_VIOLATED]


@pytest.mark.statistical
def test_false_alarms_are_no_more_than_stated() -> None:
    # 60 audits of a law that uses its claim up, at an alarm rate of 5 %: more than 14 with probability below 1e-6.
    def draw(text: str, count: int, lot: int) -> list[Outcome]:
        nonlocal stream
        stream += 1
        share = {"cat": 1, "dog": math.e}[text] / (1 + math.e) / 2
        return [
            ("a",) if u < share else ("b",) if u < 0.5 else ("c",) for u in np.random.default_rng(stream).random(count)
        ]

    stream = 0
    claims = claims_of(qk.mechanism("CMP@1", LINE))  # claims 1, and ln(P(a | dog) / P(a | cat)) is 1
    alarms = [
        sampled_check("it", draw, claims, PAIRS[:1], draws=400, alarm=0.05).verdict == VIOLATED for _ in range(60)
    ]
    assert sum(alarms) <= 14


def test_it_says_the_largest_loss_that_it_could_have_seen() -> None:
    mechanism = qk.mechanism("CMP@2", LINE)
    done = sampled_check("it", single(mechanism, 1, "test"), claims_of(mechanism), PAIRS, draws=600, alarm=1e-3)
    assert done.limit == pytest.approx(largest_bound(300, 1e-3 / (3 * 6 * 3 * 2)))
    assert (done.pairs, done.reachable, done.draws) == (6, 4, 600)  # cat and fish claim 6 nats, and so much is not seen
    assert "the largest loss that could have been seen is 3.23 nats, and 4 of 6" in done.sentence()


def test_what_leaks_much_is_found_with_few_draws() -> None:
    def draw(text: str, count: int, lot: int) -> list[Outcome]:
        return [(text,)] * count

    mechanism = qk.mechanism("CMP@2", LINE)
    done = sampled_check("it", draw, claims_of(mechanism), PAIRS, draws=100_000, alarm=1e-3)
    assert done.verdict == VIOLATED and done.draws == 1000
    assert done.finding.loss < done.limit + 1e-9 and done.finding.evidence == "500 against 0 of 500 draws"


def test_without_a_claim_the_loss_is_shown_and_pairs_without_a_claim_are_left_out() -> None:
    mechanism = qk.mechanism("CMP@2", LINE)
    done = sampled_check("it", single(mechanism, 1, "test"), Nothing(), PAIRS, draws=400, alarm=1e-3)
    assert done.verdict == NOTHING_CLAIMED and done.finding.loss > 0 and done.finding.claimed == math.inf
    lengths = [Pair("length", "cat", "cat dog")]
    done = sampled_check("it", single(mechanism, 1, "test"), claims_of(mechanism), lengths, draws=400, alarm=1e-3)
    assert done.verdict == NOT_VIOLATED and done.pairs == 0 and "about which anything is claimed" in done.sentence()


# --- wrong twins that only draws can find, with the number of draws that it takes ---


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("wrong", "right", "dimension", "pair", "draws"),
    [
        (HalfClaimed, qk.CMP, 1, ("orchestra", "loan"), 2000),
        (LooksAgain, qk.VickreyCMP, 1, ("the", "fever"), 400),
        (Renormalized, qk.Mahalanobis, 2, ("dog", "cat"), 10_000),
        (Renormalized, qk.Mahalanobis, 3, ("the", "cat"), 10_000),
    ],
)
def test_a_wrong_twin_is_found_and_the_right_one_is_not(wrong, right, dimension, pair, draws) -> None:  # type: ignore[no-untyped-def]
    for cls, expected in ((wrong, VIOLATED), (right, NOT_VIOLATED)):
        toy, claims = on_toy(cls(epsilon=3, vectors=vocabulary()), dimension)
        pairs = [one for one in toy_pairs(toy, 1) if {one.one, one.other} == set(pair)]
        done = sampled_check("it", single(toy, 1, "test"), claims, pairs, draws=draws, alarm=1e-4)
        assert done.verdict == expected, (cls, done.sentence())


# --- draws ---


@pytest.mark.statistical
def test_copies_of_a_word_in_one_query_follow_the_law_of_the_word() -> None:
    from scipy.stats import chi2_contingency

    mechanism = qk.mechanism("CMP@2", LINE)
    packed = single(mechanism, 1, "test")("cat", 6000, 0)
    alone = [text for (text,) in several([mechanism], 1, 1)("cat", 1500, 0)]
    assert len(packed) == 6000
    table = [[texts.count(word) for word in LINE.words] for texts in ([text for (text,) in packed], alone)]
    assert chi2_contingency(table).pvalue > 1e-6


@pytest.mark.statistical
def test_two_values_share_their_noise_and_keep_their_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.stats import binomtest

    monkeypatch.setattr("quipukit.auditing.draws._LARGE", 0)  # as if three words were many
    one, other = (qk.mechanism(f"CMP@{value}", LINE) for value in (2, 1))
    draw, draw_other = at_values([one, other], ["cat", "dog"], 1)  # type: ignore[list-item]
    mine, theirs = (sample("cat", 3000, 0) for sample in (draw, draw_other))
    for sample, epsilon in ((mine, 2), (theirs, 1)):
        # Noise beyond half of the way to the next word, on its side.
        moved = sum(sent != ("cat",) for sent in sample)
        assert binomtest(moved, 3000, math.exp(-epsilon / 2) / 2).pvalue > 1e-6
    assert all(them != ("cat",) for me, them in zip(mine, theirs, strict=True) if me != ("cat",))  # the same noise
    again = at_values([one, other], ["cat", "dog"], 1)[1]  # type: ignore[list-item]
    assert draw_other("dog", 30, 1) == again("dog", 30, 1)


def test_draws_are_those_of_one_release_and_depend_on_their_purpose() -> None:
    mechanism = qk.mechanism("SanText(budget='total')@2", LINE)
    draw = single(mechanism, 1, "one")
    assert draw("cat", 50, 0) == draw("cat", 50, 0) != draw("cat", 50, 1)
    assert draw("cat", 50, 0) != single(mechanism, 1, "another")("cat", 50, 0)
    assert all(len(sent) == 1 for sent in draw("cat", 50, 0))
    assert single(qk.mechanism("CMP(oov='drop')@2", LINE), 1, "one")("qqzzxv", 80, 0) == [("",)] * 80
    both = several([qk.mechanism("CMP@1", LINE), qk.mechanism("CMP@2", LINE)], 2, 1)("cat", 3, 0)
    assert [len(sent) for sent in both] == [4, 4, 4]
