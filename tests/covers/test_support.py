"""Grids by effective support."""

import numpy as np
import pytest

from quipukit.covers.encoded import EncodedPool
from quipukit.covers.load import load_partition
from quipukit.covers.support import effective_support, support_grid
from quipukit.mechanisms.queryexp import QueryExp
from tests.covers.pools import partition, pool


def test_the_support_of_known_laws() -> None:
    assert effective_support(np.log(np.full(8, 1 / 8))) == pytest.approx(8)
    assert effective_support(np.array([0.0, -np.inf])) == pytest.approx(1)


def test_a_grid_goes_from_the_whole_pool_to_few_queries() -> None:
    encoded = EncodedPool.of(pool(), "static:default")
    grid = support_grid(encoded, 6, 5.0)
    assert len(grid) == 6 and list(grid) == sorted(grid)

    def median(epsilon: float) -> float:
        exp = QueryExp(epsilon=epsilon, cover=partition())
        return float(np.median([effective_support(exp.log_probs(text)) for text in pool().texts]))

    assert median(grid[0]) > 0.95 * len(pool())
    assert any(median(one) == pytest.approx(5, rel=0.3) for one in grid)  # the last of those for queries of the pool
    assert median(grid[-1]) < 5  # which for queries outside it is not far enough
    assert grid == support_grid(encoded, 6, 5.0)


@pytest.mark.slow
def test_the_default_grid_is_that_of_the_built_in_pool() -> None:
    assert support_grid(EncodedPool.of(load_partition().pool, "static:default")) == QueryExp.grid
