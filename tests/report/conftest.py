"""Fixtures for the tests of the report."""

from pathlib import Path

import pytest

from quipukit.report.views import View, views_of
from quipukit.report.write import write_report
from tests.example_results import make_result
from tests.report.results import SMALL, only


@pytest.fixture(scope="package")
def view() -> View:
    """The view of a result with all mechanisms and one system."""
    return views_of([make_result()])[0]


@pytest.fixture(scope="package")
def small() -> View:
    """The view of a result with a few settings."""
    return views_of([only(make_result(), SMALL)])[0]


@pytest.fixture(scope="package")
def small_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the same result, beside its tables; without figures."""
    return write_report([only(make_result(), SMALL)], tmp_path_factory.mktemp("small"), formats=())
