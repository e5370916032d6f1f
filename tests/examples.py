"""How many examples a property or a parameter gets: few in `make quick`, some in `make test`, many in `make trust`."""

from typing import Any

import pytest
from hypothesis import settings

USUAL = 30  # of a property that says nothing


def examples(count: int) -> settings:
    """Return settings for a property: ``count`` examples, or the number of a profile that asks for more or for fewer.

    A plain ``settings(max_examples=...)`` would hold for every profile, and keep `make trust` small.
    """
    wanted = settings.default.max_examples if settings.default else USUAL
    if wanted == USUAL:
        return settings(max_examples=count)
    return settings(max_examples=max(count, wanted) if wanted > USUAL else min(count, wanted))


def slowly(*values: Any) -> list[Any]:
    """Return values of a parameter that `make test` leaves out and `make trust` does not; a tuple is a row of them."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.slow) for one in values]
