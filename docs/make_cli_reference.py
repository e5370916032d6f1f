"""Write docs/cli.md from what the commands print with --help."""

import os
import subprocess
import sys
from pathlib import Path

VERBS = (
    "evaluate",
    "report",
    "recommend",
    "compare",
    "obfuscate",
    "retrieve",
    "utility",
    "attack",
    "similarity",
    "score",
    "list",
    "vectors",
    "vectors install",
    "vectors remove",
    "vocabulary",
    "demo",
)


def reference() -> str:
    """Return the page."""
    environment = {**os.environ, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
    parts = ["# Command-line reference\n\nWritten by `docs/make_cli_reference.py` from `--help`.\n"]
    for verb in ("", *VERBS):
        shown = subprocess.run(
            [sys.executable, "-m", "quipukit", *verb.split(), "--help"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        parts.append(f"## quipukit {verb}".rstrip() + f"\n\n```\n{shown.rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(reference())
    else:
        Path(__file__).with_name("cli.md").write_text(reference(), encoding="utf-8")
