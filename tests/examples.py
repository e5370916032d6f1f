"""How many examples a property gets: some in `make test`, many in `make trust`."""

from hypothesis import settings


def examples(count: int) -> settings:
    """Return settings for a property: ``count`` examples, or as many as a larger profile asks for.

    A plain ``settings(max_examples=...)`` would hold for every profile, and keep `make trust` small.
    """
    wanted = settings.default.max_examples if settings.default else count
    return settings(max_examples=max(count, wanted) if wanted > 100 else count)
