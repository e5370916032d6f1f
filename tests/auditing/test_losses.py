"""The largest differences of logarithms, against NumPy's."""

import numpy as np
import pytest

from quipukit.auditing.losses import largest_losses


@pytest.mark.parametrize("width", [1, 31, 32, 33, 200])
def test_they_are_those_of_a_plain_maximum(width: int) -> None:
    values = np.random.default_rng(width).standard_normal((20, width)) * 30
    values[3, 0] = -1e30  # what is impossible
    for number in (0, 3, 19):
        losses = np.empty(20)
        largest_losses(values, number, losses)
        np.testing.assert_array_equal(losses, (values[number] - values).max(axis=1))
