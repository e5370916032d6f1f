"""The versions that a result was computed with."""

import platform

import numpy

import quipukit
from quipukit.software import joint_versions, software_versions


def test_versions_are_those_that_run() -> None:
    versions = software_versions()
    assert versions["quipukit"] == quipukit.__version__ and versions["python"] == platform.python_version()
    assert versions["numpy"] == numpy.__version__
    assert not any("+" in version for version in versions.values())


def test_versions_that_differ_are_all_listed() -> None:
    assert joint_versions([{"a": "2"}, {"a": "1", "b": "1"}, {"a": "2"}]) == {"a": ["1", "2"], "b": "1"}
    assert joint_versions([]) == {}
