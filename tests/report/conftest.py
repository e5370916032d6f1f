"""Fixtures for the tests of the report."""

import pytest

from quipukit.report.views import View, views_of
from tests.example_results import make_result


@pytest.fixture(scope="package")
def view() -> View:
    """The view of a result with all mechanisms and one system."""
    return views_of([make_result()])[0]
