"""What guarantees claim about pairs of inputs."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.claims import claims_of
from quipukit.errors import InputError
from quipukit.guarantees import ForAllVariants, Guarantee, LocalDP, MetricDP, NoGuarantee, WithinGroup
from quipukit.mechanisms.cmp import CMP
from quipukit.mechanisms.mahalanobis import ellipsoid
from tests.auditing.twins import vocabulary
from tests.covers.pools import partition

LINE = qk.Vectors(["cat", "dog", "fish"], [[0.0], [1.0], [3.0]])


def claims(spec: str, vectors: qk.Vectors = LINE, claim: Guarantee | None = None):  # type: ignore[no-untyped-def]
    return claims_of(qk.mechanism(spec, vectors), claim)


def test_metric_dp_claims_epsilon_times_the_distance_word_by_word() -> None:
    cmp = claims("CMP@2")
    assert cmp.loss("cat", "fish") == 6 and cmp.loss("cat dog", "dog fish") == 2 + 4
    assert cmp.loss("cat", "cat dog") == math.inf  # the number of words is released
    assert cmp.loss("CAT", "cat") == 0
    assert cmp.loss("qqzzxv", "zzqqvx") == 0 and cmp.loss("qqzzxv", "cat") == pytest.approx(2 * 4 / 3)
    assert cmp.losses("cat", ["cat", "dog", "qqzzxv"]).tolist() == pytest.approx([0, 2, 8 / 3])


def test_unknown_words_are_left_out_where_the_scope_leaves_them_out() -> None:
    assert claims("CMP(oov='uniform')@2").loss("qqzzxv", "cat") == math.inf
    assert claims("CMP(oov='drop')@2").loss("cat", "dog") == 2
    plus = claims("SanText+@2")
    assert plus.loss("dog", "fish") == math.inf or plus.loss("cat", "dog") == math.inf
    assert not plus.covers("cat") and plus.covers("fish")


def test_mahalanobis_claims_its_own_distance() -> None:
    vectors = vocabulary()
    factor = ellipsoid(vectors, 0.5).factor
    far = np.linalg.norm(np.linalg.solve(factor, vectors.vector("cat") - vectors.vector("tax")))
    assert claims("Mahalanobis(lam=0.5)@3", vectors).loss("cat", "tax") == pytest.approx(3 * far)


def test_local_dp_claims_epsilon_inside_a_group_and_nothing_outside() -> None:
    mechanism = qk.mechanism("CusText(k=5)@3", vocabulary())
    own = claims_of(mechanism)
    groups = [[str(mechanism.vectors.words[row]) for row in members] for members in mechanism.grouping.members]  # type: ignore[attr-defined]
    assert own.loss(groups[0][0], groups[0][1]) == 3 and own.loss(groups[0][0], groups[1][0]) == math.inf
    assert own.group(groups[0][0]) == own.group(groups[0][1]) != own.group(groups[1][0])
    assert claims("Random").loss("cat", "qqzzxv") == 0


def test_a_cover_claims_no_loss_within_a_group() -> None:
    cover = qk.mechanism("Cover@10", cover=partition())
    own = claims_of(cover)
    assert isinstance(cover.guarantee, WithinGroup)
    one, other = partition().members(0, 10)[:2]
    assert own.loss(one, other) == 0 and own.loss(one, partition().members(1, 10)[0]) == math.inf


def test_query_exp_claims_by_encodings() -> None:
    mechanism = qk.mechanism("QueryExp@5", cover=partition())
    points = [mechanism.encoded.point(text).astype(float) for text in ("cat", "tax")]  # type: ignore[attr-defined]
    assert claims_of(mechanism).loss("cat", "tax") == pytest.approx(5 * np.linalg.norm(points[0] - points[1]))


def test_other_claims_take_the_place_of_the_own_one() -> None:
    assert claims("CMP@2", claim=MetricDP(1)).loss("cat", "fish") == 3
    assert claims("CMP@2", claim=MetricDP(1).composed(4)).loss("cat", "fish") == 12
    assert claims("CMP@2", claim=ForAllVariants(MetricDP(2))).loss("cat", "fish") == 6
    assert claims("CMP@2", claim=NoGuarantee("for no reason")).loss("cat", "fish") == math.inf
    assert claims("CMP@2", claim=LocalDP(3, "all words")).loss("cat", "fish") == 3


@dataclass(frozen=True, kw_only=True)
class OwnMetric(CMP):
    """Claims in letters."""

    @property
    def promise(self) -> Guarantee:
        return MetricDP(self.epsilon, "edit distance")


@dataclass(frozen=True, kw_only=True)
class Said(OwnMetric):
    """Claims in letters, and says what that is."""

    def claimed_loss(self, one: str, other: str) -> float:
        return self.epsilon * abs(len(one) - len(other))

    @property
    def promise(self) -> Guarantee:
        return super().promise


def test_a_metric_that_nobody_knows_has_to_be_stated() -> None:
    with pytest.raises(InputError, match=r"cannot read the metric 'edit distance'.*claimed_loss"):
        claims_of(OwnMetric(epsilon=2, vectors=LINE))
    said = Said(epsilon=2, vectors=LINE)
    assert claims_of(said).loss("cat", "fish") == 2
    assert claims_of(said, said.guarantee.composed(3)).loss("cat", "fish") == 6


@pytest.mark.parametrize(
    "claim", [MetricDP(1, scope="some words"), LocalDP(1, "some words"), LocalDP(1, "the words of one club")]
)
def test_a_scope_that_nobody_knows_is_refused(claim: Guarantee) -> None:
    with pytest.raises(InputError, match=r"cannot read .*claimed_loss"):
        claims("CMP@2", claim=claim)
