"""A pool is a set of keys, whatever the order and the writing."""

import pytest

from quipukit.covers.pool import QueryPool
from quipukit.errors import InputError


def test_order_case_and_repetitions_do_not_matter() -> None:
    one, two = QueryPool.of(["b", "A", "a"]), QueryPool.of(["a ", "B"])
    assert one.sha256 == two.sha256 and len(one) == 2 and one.row("B ") == two.row("b") == 1


def test_another_query_changes_the_hash() -> None:
    assert QueryPool.of(["a", "b"]).sha256 != QueryPool.of(["a", "c"]).sha256
    assert QueryPool.of(["a b"]).sha256 != QueryPool.of(["a", "b"]).sha256


def test_nothing_is_no_pool() -> None:
    with pytest.raises(InputError, match="the pool holds no query"):
        QueryPool.of([" ", ""])
