"""``quipukit demo``: the main job on the built-in collection, in some minutes."""

from pathlib import Path

import typer

from quipukit.cli.console import say
from quipukit.cli.evaluate import execute

# Four settings each, over the part of the scale where things change.
GRID = {
    "CMP": (5, 7, 9, 12.5),
    "VickreyMhl": (9, 12, 14, 17),
    "TEM": (1, 1.5, 2, 3),
    "AEA": (2, 3, 4, 5),
    "Cover": (50, 100),
}


def demo(
    output: Path = typer.Option(Path("runs/demo"), "-o", "--output", help="Folder for the result and the report."),
) -> None:
    """Run a small experiment on the built-in collection: four published mechanisms, Cover, and their report.

    Ten queries on private matters, ten variants each, or as many as a group of Cover has; 10 documents per variant; an
    attacker with a log of 15,000 queries, in which Cover hides. It takes about four minutes on two cores the first
    time, and resumes where it was stopped.

    \b
    Example:
      quipukit demo -o runs/demo
    """
    from quipukit.experiment.grid import expand
    from quipukit.experiment.options import Options

    specs = [f"{name}@{value}" for name, values in GRID.items() for value in values]
    say("ten queries on private matters, hidden in five ways: what is still found, and who can still guess?")
    options = Options(specs=tuple(expand(specs)), n=(10,), topics=10, depth=10, log_sample=15_000, pool="completed")
    execute(options, output)
