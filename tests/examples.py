"""How many examples a property gets: a few in `make quick`, some in `make test`, many in `make trust`."""

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
