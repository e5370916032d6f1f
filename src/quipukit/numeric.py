"""Proved bounds on the rounding error of float32 arithmetic, and how a bound is shown."""

import decimal


def error_bound(dimension: int) -> float:
    """Return c such that a float32 score of vectors a, b is off by at most c * |a| * |b|.

    The sum has ``dimension`` products; rounding both factors, adding the half norm and scaling by the radius add
    a handful of further roundings.
    """
    roundings = dimension + 8
    unit = 2.0**-24
    return roundings * unit / (1 - roundings * unit)


def shown_bound(bound: float) -> str:
    """Return a positive upper bound with two digits, rounded up: rounded to the nearest, it might no longer be one.

    >>> shown_bound(1.714e-07), shown_bound(0.25)
    ('1.8e-07', '0.25')
    """
    up = decimal.Context(prec=2, rounding=decimal.ROUND_CEILING)
    return f"{float(up.create_decimal_from_float(bound)):.2g}"
