"""Figures as objects of matplotlib."""

import pytest

import quipukit as qk
from quipukit.errors import InputError
from quipukit.report.figures import figure, figure_names
from tests.example_results import make_result

MECHANISMS = ("CMP", "AEA", "Identity", "Random")


def test_figures_come_by_name_as_matplotlib_has_them(tmp_path):
    from matplotlib.figure import Figure

    result = make_result(mechanisms=MECHANISMS)
    names = figure_names(result)
    assert any(name.startswith("plane-") for name in names)
    drawn = qk.figure(result, next(name for name in names if name.startswith("plane-")))
    assert isinstance(drawn, Figure)
    drawn.savefig(tmp_path / "plane.svg")
    assert (tmp_path / "plane.svg").stat().st_size > 1000
    assert isinstance(figure(result), Figure)
    with pytest.raises(InputError, match="there is no figure 'pie'; the result has "):
        figure(result, "pie")


def test_names_are_those_of_the_files_of_a_report(tmp_path):
    result = make_result(mechanisms=MECHANISMS)
    qk.write_report(result, tmp_path, formats=["svg"], examples=False)
    assert {file.stem for file in (tmp_path / "figures").glob("*.svg")} == set(figure_names(result))
