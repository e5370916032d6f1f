"""Groups: the same for all who are in them, each time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import quipukit as qk
from quipukit.auditing.findings import HOLDS, VIOLATED, Check
from quipukit.auditing.whole import groups_check
from quipukit.guarantees import WithinGroup
from quipukit.mechanisms.base import Mechanism, Variants
from quipukit.mechanisms.cover import Cover
from tests.auditing.twins import AroundTheQuery
from tests.covers.pools import partition

QUERIES = ["cat", "what is a tax", "violin history", "qqzzxv", "who was ada lovelace"]


def check(mechanism: Mechanism, k: int = 10) -> Check:
    return groups_check(mechanism, WithinGroup(k, "topics"), QUERIES, seed=1)


@pytest.mark.parametrize("spec", ["Cover@10", "StickyCover@10", "Cover(members=3)@10"])
def test_covers_hold(spec: str) -> None:
    done = check(qk.mechanism(spec, cover=partition()))
    assert done.verdict == HOLDS and done.pairs > 20


def test_a_group_around_the_query_is_found() -> None:
    done = check(AroundTheQuery(k=10, cover=partition()))
    assert done.verdict == VIOLATED and "sends other texts itself" in done.finding.event
    assert "only the first sends 'cat'" in done.finding.evidence


def test_a_group_that_is_smaller_than_claimed_is_found() -> None:
    done = check(qk.mechanism("Cover@10", cover=partition()), k=50)
    assert done.verdict == VIOLATED and done.finding.event == "its group is smaller than claimed"


@dataclass(frozen=True, kw_only=True)
class FreshDecoys(Cover):
    """Other queries come along at each repetition."""

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        rows = rngs(0).choice(len(self.cover.pool), int(self.k) - 1, replace=False)
        return Variants([query, *(self.cover.pool.texts[row] for row in rows)])


def test_groups_that_change_are_found() -> None:
    done = check(FreshDecoys(k=20, cover=partition()))
    assert done.verdict == VIOLATED and done.finding.event == "asked again, it sends other texts"
