"""``quipukit identify``: which mechanism made these obfuscated queries?"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, print_wrapped, progress

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.identification.identify import Identification


def identify(
    obfuscated: Path = typer.Argument(
        help="Obfuscated queries: a file or a folder, our own or the published layout, or a table with qid and query."
    ),
    queries: Path | None = typer.Option(None, help="The originals, where you have them. [unknown]"),
    mechanisms: list[str] | None = typer.Option(
        None, "--mechanisms", metavar="SPEC ...", help="What to choose from. [all registered, with their grids]"
    ),
    log: str | None = typer.Option(None, help="Queries to simulate files with: as in `quipukit attack`. [wordnet]"),
    vectors: str | None = typer.Option(
        None, help="Word vectors that the file may have been made with. [the default pack]"
    ),
    top: int = typer.Option(5, "--top", min=0, help="Print this many of the likeliest settings."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows: the posterior of every setting."),
) -> None:
    """Say which mechanism, at which value of its parameter, made a file of obfuscated queries.

    Only the sent texts are read, not what the file says of its mechanism; several settings in one file are identified
    one by one. The answer is a posterior over the registered mechanisms, calibrated on files that are simulated the
    first time (about a minute) and kept. Settings that cannot be told apart are named together.

    \b
    Examples:
      quipukit identify obfuscated.csv
      quipukit identify published/dl19/CMP --top 3
      quipukit identify obfuscated.csv --queries topics.tsv
      quipukit identify obfuscated.csv --mechanisms CMP "CusText(k=20)" WBB@10 --json
    """
    from quipukit.attackers.log import read_log
    from quipukit.identification.identify import identify
    from quipukit.io.queries import read_queries
    from quipukit.vectors.sources import load_vectors

    table = _read(obfuscated)
    asked = read_queries(queries) if queries else None
    with progress("simulating files") as shown:
        answer = identify(
            table,
            asked,
            mechanisms=mechanisms or None,
            log=None if log is None else read_log(log).texts,
            vectors=None if vectors is None else load_vectors(vectors),
            progress=shown,
        )
    if as_json:
        records = {name: getattr(answer, name).to_dict("records") for name in ("summary", "posterior")}
        print_json({**records, "notes": answer.notes})
    elif as_tsv:
        print_tsv(answer.posterior)
    else:
        _show(answer, top)


def _read(path: Path) -> "pd.DataFrame":
    """Read a file of obfuscated queries; one that does not name its mechanism is a table with qid and query."""
    from quipukit.io.obfuscated import read_obfuscated
    from quipukit.io.tables import read_table

    if path.is_file():
        table = read_table(path)
        if {"qid", "query"} <= set(table.columns) and "mechanism" not in table.columns:
            return table
    return read_obfuscated(path)[0]


def _show(answer: "Identification", top: int) -> None:
    from quipukit.identification.identify import verdict

    for row in answer.summary.to_dict("records"):
        name = row["part"] or "the queries"
        if top:
            own = answer.posterior[answer.posterior["part"] == row["part"]].head(top)
            rows = [
                [line["mechanism"], plain(line["value"]) if line["parameter"] else "", f"{line['posterior']:.3f}"]
                for line in own.to_dict("records")
            ]
            print_table(f"{name}, {row['queries']} queries", ["mechanism", "value", "posterior"], rows)
        print_wrapped(f"{name}: {verdict(row)}.", "  ")
    print()
    if len(answer.summary) == 1:
        row = answer.summary.iloc[0]
        print_wrapped(
            f"- Read with {row['variants']} variants per query. {100 * row['fit']:.2g} % of simulated files fit worse. "
            f"Made with these word vectors: posterior {row['own_vectors']:.2f}.",
            "  ",
        )
    print_wrapped("- In words: the sets hold 90 % of the posterior; see docs/identify.md for what that rests on.", "  ")
    for note in answer.notes:
        print_wrapped(f"- {note}", "  ")
