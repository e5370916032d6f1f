"""``python -m quipukit``."""

from quipukit.cli import main

main()
