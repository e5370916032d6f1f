"""Which sections there are: the modules of the package, those of plugins, and what is wrong with a plugin."""

import importlib
import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import pytest

from quipukit.errors import InputError
from quipukit.plugins import temporarily_installed
from quipukit.report import sections as package
from quipukit.report.sections import Section, sections
from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.pages import digests, own_part
from tests.report.results import SMALL, only
from tests.report.sections.test_base import Lengths

BUILT_IN = ["short", "scores", "attackers", "plane", "parameter", "radar", "examples", "formal", "run", "limits"]


def test_every_module_is_found_and_sorted() -> None:
    ids = [section.id for section in sections()]
    assert [name for name in ids if name in BUILT_IN] == BUILT_IN
    modules = {each.name for each in pkgutil.iter_modules(package.__path__)} - {"base"}
    assert modules == set(ids), "a module is named like the section that it defines"
    for name in modules:
        assert importlib.import_module(f"{package.__name__}.{name}").__doc__


@pytest.mark.slow
def test_a_section_of_another_package_is_shown_linked_and_written(small_page: Path, tmp_path: Path) -> None:
    result = only(make_result(), SMALL)
    with temporarily_installed("quipukit.sections", lengths=Lengths):
        page = own_part(write_report([result], tmp_path / "with", formats=()))
    assert '<section id="lengths"' in page and '<a href="#lengths">Query length</a>' in page
    order = re.findall(r'<section id="([\w-]+)"', page)
    assert order[order.index("lengths") - 1 :][:3] == ["examples", "lengths", "formal"]
    assert re.findall(r'<a href="#([\w-]+)">', page) == order
    added = set(digests(tmp_path / "with")) - set(digests(small_page.parent))
    assert added == {"tables/lengths.csv", "tables/lengths.tex"}
    assert write_report([result], tmp_path / "again", formats=()).read_bytes() == small_page.read_bytes(), (
        "nothing of it stays"
    )


class _NoTitle(Section):
    id = "untitled"


class _BadId(Lengths):
    id = "Query length"


class _Taken(Lengths):
    id = "formal"


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (dict, "is no Section; derive it from"),
        (_NoTitle, "has no title; set it in the class"),
        (_BadId, "lower-case letters, digits and hyphens"),
        (_Taken, "two sections with the id 'formal'"),
    ],
)
def test_a_wrong_plugin_is_named_with_the_fix(plugin: type, problem: str) -> None:
    with temporarily_installed("quipukit.sections", wrong=plugin), pytest.raises(InputError, match=problem):
        sections()


@pytest.mark.parametrize(
    ("name", "problem"), [("points", "tables/points.csv again; rename"), ("a b", "use letters, digits, _ and -")]
)
def test_a_table_needs_a_name_of_its_own(tmp_path: Path, name: str, problem: str) -> None:
    class Named(Lengths):
        def view_tables(self, view: object) -> list[object]:  # type: ignore[override]
            return [replace(table, name=name) for table in super().view_tables(view)]  # type: ignore[arg-type]

    with temporarily_installed("quipukit.sections", lengths=Named), pytest.raises(InputError, match=problem):
        write_report([only(make_result(judged=False), SMALL)], tmp_path, formats=())
