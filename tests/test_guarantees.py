"""Guarantees as values: what they say, and how they compose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee, Together, joint
from quipukit.obfuscation import bind
from quipukit.vectors.store import Vectors

CLOUD = Vectors(
    [f"w{number}" for number in range(60)], np.random.default_rng(3).normal(size=(60, 4)), compose=lambda word: None
)


def test_what_they_say():
    assert str(MetricDP(10)) == "10-metric DP (euclidean) per word"
    assert str(MetricDP(12.5, "mahalanobis", scope="words of the vocabulary")) == (
        "12.5-metric DP (mahalanobis) per word, words of the vocabulary"
    )
    assert str(LocalDP(3, "the words of one group")) == "3-DP among the words of one group per word"
    assert str(NoGuarantee("sent as it is")) == "none: sent as it is"


def test_who_promises_anything():
    assert MetricDP(10).private
    assert LocalDP(0, "all words").private
    assert not NoGuarantee("why").private


@given(st.floats(1e-6, 1e6), st.integers(1, 1000), st.integers(1, 1000))
def test_releases_add_up(epsilon, n, m):
    for one in (MetricDP(epsilon), LocalDP(epsilon, "a group")):
        assert one.composed(n).epsilon == pytest.approx(n * epsilon)
        assert one.composed(n).composed(m).epsilon == pytest.approx(one.composed(n * m).epsilon)
        assert one.composed(1) == one
        # Everything else stays: metric, scope, among whom.
        assert type(one.composed(n)) is type(one)
        assert one.composed(n).per == one.per


def test_fifty_variants_at_1_are_one_at_50():
    assert MetricDP(1, "mahalanobis", "word", "here").composed(50) == MetricDP(50, "mahalanobis", "word", "here")
    assert NoGuarantee("why").composed(50) == NoGuarantee("why")


def test_they_are_values():
    assert MetricDP(10) == MetricDP(10.0)
    assert MetricDP(10) != LocalDP(10, "all words")
    assert len({MetricDP(10), MetricDP(10), MetricDP(11)}) == 2
    assert isinstance(MetricDP(1), Guarantee)
    with pytest.raises(AttributeError):
        MetricDP(10).epsilon = 1


@pytest.mark.parametrize(
    "specs",
    [
        ["Mahalanobis@2", "Mahalanobis(lam=0.5)@10"],
        ["Mahalanobis(lam=0.25)@2", "VickreyMhl(lam=0.5)@10"],
        ["CusText@2", "CusText(similarity='cosine')@10"],
        ["CMP@2", "CMP(oov='subword')@10"],
        ["CMP@2", "Mahalanobis@10"],
    ],
    ids=" + ".join,
)
def test_what_holds_for_different_distances_does_not_add_up(specs):
    bound = bind(specs, vectors=CLOUD)
    found = joint([(repr(one.spec), one.guarantee) for one in bound])
    assert isinstance(found, Together)
    assert [part.epsilon for part in found.parts] == [2, 10]
    assert len({str(part).partition("-")[2] for part in found.parts}) == 2


@pytest.mark.parametrize(
    "specs",
    [
        ["Mahalanobis@2", "VickreyMhl@10"],
        ["Mahalanobis(lam=0.5)@2", "VickreyMhl(lam=0.5, t=0.5)@10"],
        ["Mahalanobis(lam=0)@2", "SanText@10"],
    ],
    ids=" + ".join,
)
def test_what_holds_for_one_distance_adds_up(specs):
    found = joint([(repr(one.spec), one.guarantee) for one in bind(specs, vectors=CLOUD)])
    assert isinstance(found, MetricDP) and found.epsilon == 12
