"""Fingerprints of code: other code is noticed, other words are not, and no room is forgotten."""

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

import quipukit
from quipukit.experiment.codeprint import ROOMS, _syntax, code_of, code_of_object, files_of, hash_of
from quipukit.mechanisms.base import Mechanism
from quipukit.mechanisms.cmp import CMP

PACKAGE = Path(quipukit.__file__).parent

# Where each stage begins: what it calls, by module.
STARTS = {
    "obfuscate": ("obfuscation",),
    "pool": ("retrieval.load", "retrieval.bm25", "retrieval.dense", "retrieval.http", "collections.load"),
    "utility": ("retrieval.load", "retrieval.bm25", "retrieval.dense", "measures.utility", "collections.load"),
    "ceiling": ("experiment.ceilings",),
    "attack": ("attackers.panel", "attackers.quia"),
    "likeness": ("experiment.likeness",),
}
# What finds and reads things, but computes nothing: its results have fingerprints of their own, or are checked.
HANDS = {
    "errors",
    "home",
    "secret",
    "files",
    "jit",
    "terminal",
    "registry",
    "trec",
    "__init__",
    "results",
    "guarantees",
    "attackers.log",
}


def modules_of(room: str) -> set[str]:
    """Return the modules of a room."""
    folder = PACKAGE / room.replace(".", "/")
    if not folder.is_dir():
        return {room}
    found = {path.relative_to(PACKAGE).with_suffix("") for path in folder.rglob("*.py")}
    return {".".join(path.parts).removesuffix(".__init__") for path in found}


def imports_of(module: str) -> set[str]:
    """Return the modules of this package that a module imports, wherever in its text."""
    spec = find_spec(f"quipukit.{module}")
    assert spec is not None and spec.origin is not None, module
    found = set()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "quipukit":
            name = (node.module or "").removeprefix("quipukit").removeprefix(".")
            for alias in node.names:
                below = f"{name}.{alias.name}".strip(".")
                path = PACKAGE / below.replace(".", "/")
                found.add(below if path.is_dir() or path.with_suffix(".py").is_file() else name or "__init__")
    return found - {""}


def reached(starts: tuple[str, ...]) -> set[str]:
    """Return everything that is imported from some modules on."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        module = waiting.pop()
        if module not in found and module not in HANDS:
            found.add(module)
            waiting += imports_of(module)
    return found


@pytest.mark.parametrize("stage", ROOMS)
def test_every_module_that_a_stage_reaches_is_in_its_rooms(stage: str) -> None:
    covered = set().union(*(modules_of(room) for room in ROOMS[stage]))
    assert sorted(reached(STARTS[stage]) - covered) == []


def test_the_search_for_modules_finds_some() -> None:
    assert {"attackers.quia", "attackers.ranks", "encoders.store", "vectors.nearest"} <= reached(STARTS["attack"])
    assert {"mechanisms.base", "seeds", "lexical"} <= reached(STARTS["obfuscate"])


def test_a_list_of_words_counts_as_code(tmp_path: Path) -> None:
    assert PACKAGE / "vectors" / "offensive.txt" in files_of("obfuscate")
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("# cat\ndog\n")
    two.write_text("# cat\ndogs\n")
    assert hash_of([one]) != hash_of([two])


def test_stages_have_prints_of_their_own_that_stay() -> None:
    prints = {stage: code_of(stage) for stage in ROOMS}
    assert len(set(prints.values())) == len(ROOMS)
    assert prints == {stage: code_of.__wrapped__(stage) for stage in ROOMS}


# --- what counts as other code ---


SOURCE = '''"""A module."""

import os


class Thing:
    """A thing."""

    size: int = 3

    def double(self) -> int:
        """Return twice the size."""
        return 2 * self.size  # twice
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another sentence."""'),
        ("  # twice", "  # two times"),
        ('        """Return twice the size."""\n', ""),
        ("2 * self.size", "(2   *   self.size)"),
        ("\n\n\nclass", "\n# a remark\nclass"),
    ],
)
def test_words_and_layout_do_not_count(old: str, new: str) -> None:
    assert old in SOURCE
    assert _syntax(SOURCE.replace(old, new)) == _syntax(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * self", "3 * self"),
        ("= 3", "= 4"),
        ("double", "twice"),
        ("import os", "import sys"),
        ("-> int", "-> float"),
    ],
)
def test_anything_else_does(old: str, new: str) -> None:
    assert old in SOURCE
    assert _syntax(SOURCE.replace(old, new)) != _syntax(SOURCE)


def test_a_text_that_is_used_counts() -> None:
    assert _syntax("def f():\n    return 'a'") != _syntax("def f():\n    return 'b'")
    assert _syntax("x = 'a'") != _syntax("x = 'b'")


def test_a_body_of_words_alone_can_be_read() -> None:
    assert _syntax('class Empty:\n    """Nothing."""') == _syntax('class Empty:\n    """Not a thing."""')


def test_a_changed_file_has_another_hash(tmp_path: Path) -> None:
    hashes = []
    for number, text in enumerate((SOURCE, SOURCE + "# the end\n", SOURCE.replace("3", "5"))):
        file = tmp_path / f"module{number}.py"
        file.write_text(text, encoding="utf-8")
        hashes.append(hash_of([file]))
    assert hashes[0] == hashes[1] != hashes[2]


# --- plugins ---


def test_a_class_of_this_package_is_in_its_rooms() -> None:
    assert code_of_object(CMP) == ""


def test_a_plugin_s_class_stands_for_its_file() -> None:
    class Mine(Mechanism):
        pass

    assert code_of_object(Mine) == hash_of([Path(__file__)])


def test_a_class_without_a_file_has_no_print() -> None:
    assert code_of_object(type("Typed", (), {"__module__": "nowhere"})) == ""
