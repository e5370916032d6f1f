"""Guarantees as values: what they say, and how they compose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.guarantees import Guarantee, LocalDP, MetricDP, NoGuarantee


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
