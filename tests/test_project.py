"""The files around the package agree with it and with each other."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import quipukit
from tests.__main__ import combine

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_stands_in_one_place():
    assert "version" not in PYPROJECT["project"] and PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/quipukit/__init__.py"
    [cited] = re.findall(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)
    assert cited == quipukit.__version__


def test_the_changelog_knows_the_version():
    assert f"\n## [{quipukit.__version__}]" in read("CHANGELOG.md")


def test_every_python_that_we_promise_is_tested():
    promised = re.findall(r":: Python :: (3\.\d+)'", str(PYPROJECT["project"]["classifiers"]))
    [tested] = re.findall(r"python: \[(.+)\]", read(".github/workflows/ci.yml"))
    assert re.findall(r"3\.\d+", tested) == promised
    assert PYPROJECT["project"]["requires-python"] == f">={promised[0]}"


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "Makefile", ".github/workflows/ci.yml", ".pre-commit-config.yaml"]
)
def test_every_make_target_that_a_file_names_exists(name):
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    named = re.findall(r"(?:`|run: |entry: |@echo \"|^    )make ([a-z]+)", read(name), re.MULTILINE)
    assert named and set(named) <= targets


def test_the_test_extra_holds_what_the_make_targets_call():
    wanted = {"pytest", "pytest-xdist", "ruff", "mypy", "import-linter", "hypothesis"}
    assert wanted <= {re.split(r"[<>=]", one)[0] for one in PYPROJECT["project"]["optional-dependencies"]["test"]}


@pytest.mark.parametrize(
    ("codes", "together"), [([0, 0], 0), ([0, 5], 0), ([5, 0], 0), ([5, 5], 5), ([1, 0], 1), ([0, 1], 1), ([5, 4], 4)]
)
def test_both_parts_of_the_tests_make_one_exit_code(codes, together):
    assert combine(codes) == together


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("options", "code", "last"),
    [
        pytest.param([], 1, "1 failed, 3 passed, 1 skipped in", marks=pytest.mark.slow),
        pytest.param(["-k", "not bad"], 0, "3 passed, 1 skipped in", marks=pytest.mark.slow),
        pytest.param(["-k", "nothing"], 5, "no tests ran in", marks=pytest.mark.slow),
        (["-m", "slow", "-n", "1"], 0, "1 passed in"),
    ],
)
def test_both_parts_run_and_are_counted_together(tmp_path, options, code, last):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    serial: alone\n    slow: long\n    published: no\n")
    (tmp_path / "test_it.py").write_text(
        "import os\n"
        "import pytest\n\n\n"
        "def test_bad():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n\n\n"
        "def test_good():\n    assert 'PYTEST_XDIST_WORKER' in os.environ\n\n\n"
        "@pytest.mark.serial\ndef test_alone():\n    assert 'PYTEST_XDIST_WORKER' not in os.environ\n\n\n"
        "@pytest.mark.serial\ndef test_other():\n    pass\n\n\n"
        "@pytest.mark.serial\ndef test_skipped():\n    pytest.skip('not here')\n\n\n"
        "@pytest.mark.slow\ndef test_long():\n    pass\n"
    )
    command = [sys.executable, "-m", "tests", *options, "-c", str(tmp_path / "pytest.ini"), str(tmp_path)]
    # This test may itself run in one of several processes.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert last in done.stdout.splitlines()[-1]
    assert ("FAILED test_it.py::test_bad" in done.stdout.split("both parts together:")[1]) == (code == 1)


def test_no_test_has_examples_in_its_docstrings():
    """They would not be run: see `pytest_collect_file` in tests/conftest.py."""
    examples = re.compile(r"^\s*>>" + "> ", re.MULTILINE)
    assert [path.name for path in (ROOT / "tests").rglob("*.py") if examples.search(path.read_text("utf-8"))] == []
