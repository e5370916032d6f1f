"""What figures share: characters that the font has, equal bytes, the user's own style left alone."""

from pathlib import Path

import matplotlib as mpl
import pytest

from quipukit.report.drawing import FORMATS, axes_at, lay_out, new_figure, safe, save, styled, wrapped


def test_characters_that_the_font_lacks_become_question_marks() -> None:
    assert safe("CMP \N{GREEK SMALL LETTER EPSILON} \N{GRINNING FACE}\N{CJK UNIFIED IDEOGRAPH-4E00}")[-1] == "?"
    assert safe("a\N{EN DASH}b") == "a\N{EN DASH}b"
    assert wrapped("CusText(k=20, mapping='top_k')", 16).count("\n") == 1


def test_equal_figures_give_equal_files_in_every_format(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with styled():
            figure = new_figure(2, 1)
            axes_at(figure, 0.2, 0.1, 1.5, 0.6).plot([0, 1], [0, 1], label="$x")
        save(figure, tmp_path / name)
    for kind in FORMATS:
        content = (tmp_path / f"one.{kind}").read_bytes()
        assert content and content == (tmp_path / f"two.{kind}").read_bytes()


def test_axes_are_placed_in_inches_from_the_upper_left() -> None:
    box = axes_at(new_figure(4, 2), left=1, top=0.5, width=2, height=1).get_position()
    assert (box.x0, box.y0, box.width, box.height) == (0.25, 0.25, 0.5, 0.5)


def test_a_layout_has_no_digits_that_change_from_process_to_process() -> None:
    figure = new_figure(4, 2)
    figure.subplots(1, 3)
    lay_out(figure)
    sides = [side for axes in figure.axes for side in axes.get_position().bounds]
    assert sides == [pytest.approx(round(side, 6), abs=1e-15) for side in sides]
    assert sides[0] > 0 and sides[0] + sides[2] < sides[4] < sides[8], "one beside the other"


def test_the_users_style_stays() -> None:
    with mpl.rc_context({"font.size": 33}):
        with styled():
            assert mpl.rcParams["font.size"] == 8
        assert mpl.rcParams["font.size"] == 33
