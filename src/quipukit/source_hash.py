"""Hashes of source code, so that what other code computed is computed again.

A hash covers a module and every module of this package that it imports, directly or through others. Source is hashed
as syntax, without comments, docstrings and layout: rewording a sentence throws nothing away, and no version number can
be forgotten. Modules that move data without changing it (`INFRASTRUCTURE`) do not count.
"""

import ast
import functools
import hashlib
import inspect
import secrets
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_PACKAGE = "quipukit"
_STANDARD_LIBRARY = Path(inspect.getfile(inspect)).parent

# They find, read, write, name or schedule things: what they return has a fingerprint of its own, or is checked.
INFRASTRUCTURE = frozenset(
    f"{_PACKAGE}.{name}"
    for name in (
        "attackers.log",
        "attackers.registry",
        "deprecation",
        "errors",
        "executors",
        "fingerprints",
        "experiment.artifacts",
        "experiment.cells",
        "experiment.stages.base",
        "guarantees",
        "io",
        "jit",
        "plugins",
        "progress",
        "registry",
        "results",
        "secret",
        "source_hash",
        "storage",
        "terminal",
    )
)


@functools.cache
def source_hash(*modules: str) -> str:
    """Return the hash of modules and of all that they import from this package."""
    total = hashlib.sha256()
    for file in files_of(*modules):
        total.update(_content(file).encode())
    return total.hexdigest()


@functools.cache
def object_hash(thing: Any) -> str:
    """Return the hash of the source of a class or function: of its file and what that imports from this package.

    Something typed at a prompt has no file, and its hash is empty; `code_key` is for what must not go unnoticed.
    """
    module = str(getattr(thing, "__module__", ""))
    if module.split(".", maxsplit=1)[0] == _PACKAGE:
        return source_hash(module)
    try:
        files = _plugin_files(thing)
    except (TypeError, OSError):
        return ""
    below = sorted({name for file in files for name in _imports(file) if not _is_infrastructure(name)})
    return hashlib.sha256("".join([*map(_content, files), source_hash(*below)]).encode()).hexdigest()


def _plugin_files(thing: Any) -> list[Path]:
    """Return the files of a plugin's class, of the classes that it derives from, and of what they import beside them.

    Beside them: from the same package, or from modules in the same folder.
    """
    classes = [one for one in getattr(thing, "__mro__", (thing,)) if not _is_ours_or_installed(one, thing)]
    reached: set[Path] = set()
    waiting = [Path(inspect.getfile(one)) for one in classes]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += _imported_beside(file)
    return sorted(reached)


def _is_ours_or_installed(cls: Any, thing: Any) -> bool:
    """Return whether a base class is quipukit's, or of a library that the plugin merely uses."""
    top, own = (str(getattr(one, "__module__", "")).split(".", maxsplit=1)[0] for one in (cls, thing))
    return (
        cls is not thing
        and (top == _PACKAGE or top in sys.stdlib_module_names or "site-packages" in _where(cls))
        and top != own
    )


def _where(cls: Any) -> str:
    try:
        return inspect.getfile(cls)
    except (TypeError, OSError):
        return "site-packages"  # built in


def _imported_beside(file: Path) -> list[Path]:
    """Return the files of its own folder, or below it, that a file imports; none beside one of Python's own.

    What pickle keeps of most objects names a function of Python's own, and beside that lies the standard library.
    """
    if file.parent == _STANDARD_LIBRARY:
        return []
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module or ''}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    lasts = {name.rpartition(".")[2] for name in names if name} | {name.split(".")[0] for name in names if name}
    candidates = [path for last in lasts for path in (file.parent / f"{last}.py", file.parent / last / "__init__.py")]
    return [path for path in candidates if path.is_file() and path != file]


@functools.cache
def code_key(thing: Any) -> str:
    """Return the hash of the source of a class or function; of something typed at a prompt, one of its own.

    Nobody can tell whether it is the same as that of another session, so what it computed there is computed again.
    """
    return object_hash(thing) or secrets.token_hex(32)


@functools.cache
def files_of(*modules: str) -> tuple[Path, ...]:
    """Return the files that modules run or, like a list of words, read from their own folder."""
    files = {_file(module) for module in reached_modules(*modules)}
    lists = {path for folder in {file.parent for file in files} for path in folder.glob("*.txt")}
    return tuple(sorted(files)) + tuple(sorted(lists))


@functools.cache
def reached_modules(*modules: str) -> tuple[str, ...]:
    """Return modules and all that they import from this package, wherever in their text, infrastructure aside."""
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached and not _is_infrastructure(module):
            reached.add(module)
            waiting += _imports(_file(module))
    return tuple(sorted(reached))


def _is_infrastructure(module: str) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:count]) in INFRASTRUCTURE for count in range(1, len(parts) + 1)) or module == _PACKAGE


def _file(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {module!r} to hash.")
    return Path(spec.origin)


def _imports(file: Path) -> tuple[str, ...]:
    """Return the modules of this package that a file imports."""
    return _imports_and_syntax(file)[0]


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in _statements_in(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue  # never runs
        yield from _imported(node)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == _PACKAGE:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if _is_module(below) else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == _PACKAGE)


def _statements_in(node: ast.AST) -> Iterator[ast.AST]:
    """Return the statements right below a node, and the handlers and cases that hold others: no expression does."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        below = getattr(node, name, None)
        if isinstance(below, list):  # of a lambda or a conditional expression it is an expression
            yield from below


@functools.cache
def _is_module(name: str) -> bool:
    path = Path(__file__).parents[1] / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@functools.cache
def _imports_and_syntax(file: Path) -> tuple[tuple[str, ...], str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(dict.fromkeys(_imported(tree))), _dump(tree)


def _content(file: Path) -> str:
    """Return what counts of a file: the syntax of Python, the text of anything else."""
    return _imports_and_syntax(file)[1] if file.suffix == ".py" else file.read_text(encoding="utf-8")


def syntax(source: str) -> str:
    """Return what the interpreter sees of a source.

    >>> syntax("x = 1  # one") == syntax("x   =  1") != syntax("x = 2")
    True
    """
    return _dump(ast.parse(source))


def _dump(tree: ast.Module) -> str:
    """Return a tree as text, and leave it without docstrings."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += _statements_in(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_docstring(body[0]):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
