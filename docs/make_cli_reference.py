"""Write docs/cli.md from what the commands print with --help."""

import contextlib
import io
import os
import sys
from pathlib import Path
from unittest import mock

from quipukit.cli import main

VERBS = (
    "evaluate",
    "report",
    "recommend",
    "compare",
    "obfuscate",
    "retrieve",
    "utility",
    "attack",
    "identify",
    "audit",
    "card",
    "cover",
    "similarity",
    "score",
    "search",
    "ledger",
    "ledger show",
    "ledger limit",
    "ledger forget",
    "mcp",
    "list",
    "vectors",
    "vectors install",
    "vectors remove",
    "vocabulary",
    "serve",
    "demo",
)


def reference() -> str:
    """Return the page."""
    parts = ["# Command-line reference\n\nWritten by `docs/make_cli_reference.py` from `--help`.\n"]
    for verb in ("", *VERBS):
        parts.append(f"## quipukit {verb}".rstrip() + f"\n\n```\n{_help(verb).rstrip()}\n```\n")
    return "\n".join(parts)


def _help(verb: str) -> str:
    shown = io.StringIO()
    with (
        mock.patch.dict(os.environ, {"COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}),
        contextlib.redirect_stdout(shown),
    ):
        try:
            main([*verb.split(), "--help"])
        except SystemExit as end:
            if end.code:
                raise
    return shown.getvalue()


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(reference())
    else:
        Path(__file__).with_name("cli.md").write_text(reference(), encoding="utf-8")
