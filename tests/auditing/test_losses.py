"""The largest differences of logarithms, against NumPy's."""

import numpy as np
import pytest

from quipukit.auditing.losses import largest_losses


@pytest.mark.parametrize("width", [1, 31, 32, 33, 200])
def test_they_are_those_of_a_plain_maximum(width: int) -> None:
    values = np.random.default_rng(width).standard_normal((20, width)) * 30
    values[3, 0] = -1e30  # what is impossible
    plain = (values[:, None] - values).max(axis=2)
    for first, count in ((0, 1), (3, 5), (0, 20), (19, 1)):
        losses = np.empty((count, 20))
        largest_losses(values, first, losses)
        np.testing.assert_array_equal(losses, plain[first : first + count])
