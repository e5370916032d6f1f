"""The documentation site: `make docs` builds it, with warnings as errors."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import quipukit

project = "quipukit"
author = "The quipukit contributors"
copyright = f"2026, {author}"
version = release = quipukit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["build"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # pages that a script writes begin where it is clearest, not always at level 2
autodoc_typehints = "signature"
default_role = "code"  # docstrings are written for the terminal: one pair of backticks is code

html_theme = "furo"
html_title = "quipukit"
html_copy_source = False
html_show_sphinx = False

KINDS = {"class": "autoclass", "function": "autofunction"}


def write_api(app: Any) -> None:
    """Write the page of all public names, in the order of the modules that hold them."""
    homes: dict[str, list[str]] = {}
    for name, home in quipukit._HOMES.items():
        homes.setdefault(home, []).append(name)
    lines = [
        "# Python API",
        "",
        "`import quipukit as qk`; every name below is `qk.NAME`, and is loaded when it is first used.",
        "",
    ]
    for home in sorted(homes):
        about = (inspect.getdoc(importlib.import_module(home)) or "").split("\n\n")[0].replace("\n", " ")
        lines += [f"## {home.removeprefix('quipukit.')}", "", about, "", "```{eval-rst}"]
        for name in homes[home]:
            thing = getattr(quipukit, name)
            lines += [f".. {KINDS['class' if inspect.isclass(thing) else 'function']}:: {home}.{name}", ""]
        lines += ["```", ""]
    page = Path(app.srcdir, "api.md")
    text = "\n".join(lines)
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def escape(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep bars in formulas, |V| and ||z||, from being read as markup."""
    lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app: Any) -> None:
    """Have the reference written before the pages are read."""
    app.connect("builder-inited", write_api)
    app.connect("autodoc-process-docstring", escape)
