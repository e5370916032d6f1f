"""Proved bounds on the rounding error of float32 arithmetic."""


def error_bound(dimension: int) -> float:
    """Return c such that a float32 score of vectors a, b is off by at most c * |a| * |b|.

    The sum has ``dimension`` products; rounding both factors, adding the half norm and scaling by the radius add
    a handful of further roundings.
    """
    roundings = dimension + 8
    unit = 2.0**-24
    return roundings * unit / (1 - roundings * unit)
