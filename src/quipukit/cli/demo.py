"""``quipukit demo``: the main job on the built-in collection, small enough to wait for."""

from pathlib import Path

import typer

from quipukit.cli.console import say
from quipukit.cli.evaluate import execute
from quipukit.cli.rehearsal import rehearsed

# Three settings each, over the part of the scale where things change. CMP and VickreyCMP share noise and epsilons, so
# that the attacker who knows the mechanism simulates it once for both.
GRID = {
    "CMP": (5, 9, 12.5),
    "VickreyCMP": (5, 9, 12.5),
    "TEM": (1, 1.5, 3),
    "AEA": (3, 4, 5),
    "Cover": (50, 100),
}


def demo(
    output: Path = typer.Option(Path("runs/demo"), "-o", "--output", help="Folder for the result and the report."),
) -> None:
    """Run a small experiment on the built-in collection: four published mechanisms, Cover, and their report.

    Ten queries on private matters, ten variants each, or as many as a group of Cover has; 10 documents per variant; an
    attacker with a log of 5,000 queries, in which Cover hides. User and attacker compare texts by static word vectors,
    for which no model is loaded. The first time it takes about a minute on two cores; it resumes where it was stopped.
    The page has its own figures; `quipukit report` writes those for papers.

    \b
    Example:
      quipukit demo -o runs/demo
    """
    from quipukit.experiment.grid import expand
    from quipukit.experiment.options import Options
    from quipukit.retrieval.system import SystemSpec

    specs = [f"{name}@{value}" for name, values in GRID.items() for value in values]
    say("ten queries on private matters, hidden in five ways: what is still found, and who can still guess?")
    options = Options(
        specs=tuple(expand(specs)),
        n=(10,),
        topics=10,
        depth=10,
        log_sample=5_000,
        pool="completed",
        systems=(SystemSpec("bm25", "static"),),  # a transformer would take most of the time
        encoder="static",
        growth=False,
    )
    with rehearsed():
        execute(options, output, formats=())
