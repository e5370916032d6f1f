"""``quipukit ledger``: what was released to which engine, and the limits of it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import plain, print_json, print_table, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    from quipukit.search.ledger import Ledger

app = typer.Typer(help="Show, limit or forget what private searches have released.", no_args_is_help=True)

_FILE = typer.Option(None, "--ledger", help="The ledger's file. [QUIPUKIT_LEDGER, or in the folder of quipukit]")


@app.command("show")
def show(
    engine: str | None = typer.Option(None, help="Of this engine alone."),
    file: Path | None = _FILE,
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show what was released, engine by engine and topic by topic.

    Topics and queries are hashes under the secret of this installation: the file tells nobody what they are about.

    \b
    Examples:
      quipukit ledger show
      quipukit ledger show --engine wordnet --json
    """
    with _opened(file) as ledger:
        rows, limits = ledger.rows(engine), ledger.limits()
    if as_json:
        stated = [{"engine": name, "limit": kind, "value": value} for (name, kind), value in limits.items()]
        print_json({"topics": [asdict(row) for row in rows], "limits": stated})
        return
    table = [
        [
            *(row.engine, row.topic[:8], row.setting, str(row.releases), str(row.repetitions), str(row.texts)),
            "none" if row.unbounded else plain(row.epsilon) if row.epsilon is not None else "-",
            *(str(row.originals), row.last),
        ]
        for row in rows
    ]
    headings = ["engine", "topic", "setting", "releases", "repeated", "texts", "epsilon", "with the query", "last"]
    groups = sum(row.kind == "group" for row in rows)
    caption = (
        f"{groups} groups revealed; epsilon is that of all words and texts together, 'none' where nothing bounds it"
    )
    print_table("", headings, table, caption)
    for (name, kind), value in limits.items():
        print(f"limit of {kind} ({name or 'every engine'}): {plain(value)}")


@app.command("limit")
def limit(
    epsilon: float | None = typer.Option(None, min=0, help="The most epsilon to spend on a topic."),
    groups: int | None = typer.Option(None, min=0, help="The most groups to reveal to an engine."),
    repetitions: int | None = typer.Option(None, min=0, help="How often a query may be repeated."),
    engine: str = typer.Option("", help="For this engine alone. [every engine]"),
    remove: bool = typer.Option(False, "--remove", help="Remove all limits (of the engine)."),
    file: Path | None = _FILE,
) -> None:
    """Set limits: a search that would cross one says so and sends nothing, unless it is told to.

    \b
    Examples:
      quipukit ledger limit --epsilon 400 --groups 20
      quipukit ledger limit --groups 5 --engine searxng+https://searx.example.org
      quipukit ledger limit --remove
    """
    given = {"epsilon": epsilon, "groups": groups, "repetitions": repetitions}
    if not remove and all(value is None for value in given.values()):
        raise InputError("name a limit: --epsilon, --groups or --repetitions; or --remove.")
    with _opened(file) as ledger:
        for kind, value in given.items():
            if remove or value is not None:
                ledger.set_limit(kind, value, engine)
        for (name, kind), value in ledger.limits().items():
            say(f"limit of {kind} ({name or 'every engine'}): {plain(value)}")


@app.command("forget")
def forget(
    engine: str | None = typer.Option(None, help="What was counted about this engine alone."),
    everything: bool = typer.Option(False, "--all", help="All of it, and the variants that are sent again."),
    yes: bool = typer.Option(False, "--yes", help="Do not ask."),
    file: Path | None = _FILE,
) -> None:
    """Delete what was counted. What engines have received stays with them: the counts then say less than they know.

    \b
    Examples:
      quipukit ledger forget --engine wordnet
      quipukit ledger forget --all --yes
    """
    if (engine is None) is not everything:
        raise InputError("say what to forget: --engine ENGINE, or --all.")
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("what is forgotten cannot be counted again; add --yes.")
        typer.confirm("what is forgotten cannot be counted again; go on?", abort=True, err=True)
    with _opened(file) as ledger:
        say(f"{ledger.forget(engine):,} rows deleted from {ledger.path}")


def _opened(file: Path | None) -> "Ledger":
    from quipukit.search.ledger import Ledger

    return Ledger(file)
