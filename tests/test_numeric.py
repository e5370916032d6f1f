"""The bound on float32 rounding holds where rounding is at its worst, and is not idle."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quipukit.numeric import error_bound, shown_bound


@pytest.mark.parametrize("dimension", [1, 2, 50, 384, 1000])
@given(st.integers(0, 2**32 - 1))
def test_no_float32_product_is_off_by_more(dimension, seed):
    rng = np.random.default_rng(seed)
    # Large coordinates that cancel: the sum is small, its rounding is not.
    a = rng.standard_normal(dimension) * 10.0 ** rng.uniform(-3, 3, dimension)
    b = rng.standard_normal(dimension) * 10.0 ** rng.uniform(-3, 3, dimension)
    total = np.float32(0)
    for x, y in zip(a.astype(np.float32), b.astype(np.float32), strict=True):
        total = np.float32(total + np.float32(x * y))
    off = abs(float(total) - float(a @ b))
    assert off <= error_bound(dimension) * np.linalg.norm(a) * np.linalg.norm(b)


def test_the_bound_grows_with_the_dimension_and_stays_small():
    bounds = [error_bound(dimension) for dimension in (1, 50, 384, 1024)]
    assert bounds == sorted(bounds) and bounds[0] >= 9 * 2.0**-24 and bounds[-1] < 1e-4


def test_a_bound_for_fewer_roundings_would_be_broken():
    """The twin: adding up tenths in float32 loses more than a bound of one rounding would allow."""
    a, b = np.full(4096, 0.1), np.ones(4096)
    total = np.float32(0)
    for x in a.astype(np.float32):
        total = np.float32(total + x)
    off = abs(float(total) - float(a @ b))
    scale = np.linalg.norm(a) * np.linalg.norm(b)
    assert 2.0**-24 * scale < off <= error_bound(4096) * scale


@given(st.floats(1e-300, 1e300))
def test_a_bound_is_shown_no_smaller_than_it_is_and_hardly_larger(bound):
    assert bound <= Fraction(shown_bound(bound)) <= Fraction(bound) * Fraction(11, 10)
