"""Tests mirror the source: a module has a test file of its own name, or tests/layout.toml says where it is tested."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import quipukit

TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / "quipukit"
ELSEWHERE: dict[str, str] = tomllib.loads((TESTS / "layout.toml").read_text(encoding="utf-8"))["tested_in"]

# Commands and stages are called by name.
NAMED_BY_TEXT = ("cli", "experiment.stages")


def modules() -> dict[str, Path]:
    """Every module that defines something, by its name below `quipukit`."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and defines_something(path):
            found[name] = path
    return found


def defines_something(path: Path) -> bool:
    """Whether a file is more than a docstring and imports."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(not isinstance(node, (ast.Expr, ast.Import, ast.ImportFrom)) and not is_all(node) for node in body)


def is_all(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == ["__all__"]


def mirror(module: str) -> Path:
    """Return the test file of a module's own name."""
    *folders, name = module.split(".")
    return TESTS.joinpath(*folders, f"test_{name}.py")


def mentions(test: Path, module: str) -> bool:
    """Whether a test file names the module, imports something that it defines, or names its command or stage."""
    text, full = test.read_text(encoding="utf-8"), f"quipukit.{module}"
    if re.search(re.escape(full) + r"\b", text):
        return True
    package, _, name = module.rpartition(".")
    if package in NAMED_BY_TEXT and re.search(rf"[\"']{name}[\"' ]", text):
        return True
    return any(thing == full for thing in used(text))


def used(text: str) -> Iterator[str]:
    """Iterate over the modules of what a test takes from the package: by import, or as `qk.name`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "quipukit":
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
                yield home(importlib.import_module(str(node.module)), alias.name)
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("qk", "quipukit")
        ):
            yield home(quipukit, node.attr)


def home(package: ModuleType, name: str) -> str:
    return str(getattr(getattr(package, name, None), "__module__", ""))


def test_every_module_has_a_test_file_of_its_own_name_or_an_entry():
    missing = [name for name in modules() if not mirror(name).exists() and name not in ELSEWHERE]
    assert not missing, "add a test file of the same name, or an entry in tests/layout.toml: " + ", ".join(missing)


def test_the_files_that_the_table_names_mention_the_module():
    silent = [
        f"{test} ({name})"
        for name, test in ELSEWHERE.items()
        if (TESTS / test).exists() and not mentions(TESTS / test, name)
    ]
    assert silent == []


def test_the_entries_are_needed_and_true():
    known = modules()
    wrong = [name for name in ELSEWHERE if name not in known or mirror(name).exists()]
    assert wrong == [], "no such module, or it has a test file of its own name by now"
    assert [test for test in ELSEWHERE.values() if not (TESTS / test).is_file()] == []


def test_what_only_passes_names_on_needs_no_test_file(tmp_path):
    (tmp_path / "names.py").write_text('"""Names."""\n\nfrom os import path\n\n__all__ = ["path"]\n')
    (tmp_path / "logic.py").write_text('"""Logic."""\n\nimport os\n\nHOME = os.environ["HOME"]\n')
    assert not defines_something(tmp_path / "names.py") and defines_something(tmp_path / "logic.py")


def test_a_file_that_is_about_something_else_is_noticed(tmp_path):
    test = tmp_path / "test_store.py"
    for other in ("import quipukit as qk\n\nqk.risk\n", "from quipukit.vectors.nearest import top_k\n", "store = 1\n"):
        test.write_text(other)
        assert not mentions(test, "vectors.store")
    for own in (
        "from quipukit.vectors import nearest, store\n",
        "import quipukit as qk\n\nqk.Vectors\n",
        "from quipukit import Vectors\n",
        "from quipukit.vectors.store import Vectors\n",
    ):
        test.write_text(own)
        assert mentions(test, "vectors.store")
