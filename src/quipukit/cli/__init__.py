"""The command line: one file a verb. Heavy modules are imported inside the verbs, so that --help is instant."""

from quipukit.cli.main import main

__all__ = ["main"]
