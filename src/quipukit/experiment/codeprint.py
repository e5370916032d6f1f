"""Fingerprints of code: what was computed by other code is computed again.

A stage depends on the rooms that take part in it. Their source is hashed as syntax, without comments, docstrings and
layout: mending a sentence throws nothing away, and no version number can be forgotten.
"""

import ast
import functools
import hashlib
import inspect
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_WORDS = ("text", "seeds", "specs", "frames")
_VECTORS = ("vectors", "lexical", "wordnet", "bm25", "numeric", "threads")

ROOMS = {
    "obfuscate": (*_WORDS, *_VECTORS, "obfuscation", "mechanisms", "guarantees"),
    "pool": (*_WORDS, *_VECTORS, "retrieval", "encoders", "collections", "io.reading", "experiment.stages"),
    "utility": (
        *_WORDS,
        *_VECTORS,
        "retrieval",
        "encoders",
        "collections",
        "io.reading",
        "measures.utility",
        "io.trec",
        "experiment.stages",
    ),
    # Beside what finds and measures: the names of pools and utilities, which are part of its own, stand for that.
    "ceiling": ("experiment.ceilings",),
    "attack": (*_WORDS, *_VECTORS, "attackers", "encoders", "experiment.stages"),
    "likeness": (
        *_WORDS,
        *_VECTORS,
        "mechanisms",
        "measures.similarity",
        "measures.deniability",
        "encoders",
        "experiment.likeness",
    ),
}


@functools.cache
def code_of(stage: str) -> str:
    """Return the fingerprint of the code that a stage runs."""
    return hash_of(files_of(stage))


def files_of(stage: str) -> list[Path]:
    """Return the files that a stage runs or, like a list of words, reads."""
    files: list[Path] = []
    for room in ROOMS[stage]:
        spec = find_spec(f"quipukit.{room}")
        assert spec is not None and spec.origin is not None, room
        origin = Path(spec.origin)
        package = origin.parent.rglob("*") if origin.name == "__init__.py" else [origin]
        files += sorted(path for path in package if path.suffix in (".py", ".txt"))
    return files


def remember_code() -> None:
    """Read all code now: a file that changes while an experiment runs is not the code that runs."""
    for stage in ROOMS:
        code_of(stage)


@functools.cache
def code_of_object(made: Any) -> str:
    """Return the fingerprint of the file in which a plugin's class or function stands; ours are in their rooms."""
    if str(getattr(made, "__module__", "")).startswith("quipukit."):
        return ""
    try:
        return hash_of([Path(inspect.getfile(made))])
    except (TypeError, OSError):  # made at a prompt: there is no file, and nothing to compare later
        return ""


def hash_of(files: Iterable[Path]) -> str:
    """Return a hash over the syntax of some files; of other files than Python's, over their text."""
    total = hashlib.sha256()
    for file in files:
        total.update(_syntax_of(file).encode())
    return total.hexdigest()


@functools.cache
def _syntax_of(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    return _syntax(text) if file.suffix == ".py" else text


def _syntax(source: str) -> str:
    """Return what the interpreter sees of a source.

    >>> _syntax("x = 1  # one") == _syntax("x   =  1") != _syntax("x = 2")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
