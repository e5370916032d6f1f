"""Looks: visible in light and dark, different without color, stable."""

from quipukit.report.palette import NIGHT, PAPER, looks_of


def luminance(color: str) -> float:
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_looks_are_seen_in_light_and_dark_and_differ_without_color() -> None:
    looks = looks_of(["CMP", "AEA", *(f"M{number}" for number in range(8))])
    for look in looks.values():
        assert contrast(look.light, PAPER) >= 3 and contrast(look.dark, NIGHT) >= 3
    assert len({look.marker for look in looks.values()}) == 10
    assert len({look.plain_marker for look in looks.values()}) == 10


def test_looks_stay_with_a_mechanism() -> None:
    assert looks_of(["TEM", "CMP"])["CMP"] == looks_of(["CMP"])["CMP"]
    many = looks_of([f"M{number}" for number in range(40)])
    assert len({(look.light, look.marker, look.dash) for look in many.values()}) == 40


def test_a_mechanism_of_ones_own_is_not_taken_for_one_that_is_there() -> None:
    """Two blues side by side were."""
    looks = looks_of(["CMP", "Cover"])
    red, _, blue = bytes.fromhex(looks["Cover"].light[1:])
    assert looks["CMP"].light == "#0072b2" and red > blue
