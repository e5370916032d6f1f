"""Partitions that cannot be made, and that topics stay together in those that can."""

import pytest

from quipukit.covers.describe import Description
from quipukit.covers.make import make_partition
from quipukit.errors import InputError
from tests.covers.pools import STATIC, TOPICS, partition, pool


def test_groups_keep_to_a_topic() -> None:
    """A group at random would hold all four topics in equal shares; here the largest has three quarters."""
    own = partition(20)
    shares = []
    for number in range(len(own.starts(20)) - 1):
        members = own.members(number, 20)
        counts = [sum(any(word in text.split() for word in words) for text in members) for words in TOPICS.values()]
        shares.append(max(counts) / len(members))
    assert sum(shares) / len(shares) > 0.75


def test_the_form_of_queries_can_count() -> None:
    """Divided by it first, questions stand with questions."""
    own = make_partition(pool(), 20, Description("static:default", 2))
    shares = []
    for number in range(len(own.starts(20)) - 1):
        questions = [text.startswith("what") for text in own.members(number, 20)]
        shares.append(max(sum(questions), len(questions) - sum(questions)) / len(questions))
    assert sum(shares) / len(shares) > 0.95


@pytest.mark.parametrize(
    ("leaf", "message"), [(1, "hides among none"), (100_000, "fewer than the 100,000 of one group")]
)
def test_impossible_groups_are_refused(leaf: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_partition(pool(), leaf, STATIC)
