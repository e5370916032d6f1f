"""Sorting within compiled code: beside NumPy's, on short parts, long ones and those that are bad for a heap."""

import time

import numpy as np
import pytest

from quipukit.intsort import sort_part


@pytest.mark.parametrize("size", [0, 1, 2, 3, 23, 24, 25, 26, 100, 10_000])
@pytest.mark.parametrize("largest", [1, 3, 2**31 - 1])
def test_a_part_is_sorted_and_the_rest_stays(size, largest):
    values = np.random.default_rng(size).integers(0, largest, size + 7).astype(np.int32)
    expected = values.copy()
    expected[3 : 3 + size].sort()
    sort_part(values, 3, 3 + size)
    assert np.array_equal(values, expected)


def test_no_order_takes_quadratic_time():
    size = 200_000
    orders = [
        np.arange(size),
        np.arange(size)[::-1],
        np.zeros(size, int),
        np.arange(size) % 2,
        np.arange(size) ^ 0x5555,
    ]
    sort_part(np.arange(30), 0, 30)  # compiled
    start = time.process_time()
    for order in orders:
        values = np.ascontiguousarray(order)
        sort_part(values, 0, size)
        assert np.array_equal(values, np.sort(order))
    assert time.process_time() - start < 5  # 10^10 steps would take longer
