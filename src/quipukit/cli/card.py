"""``quipukit card``: one page and one JSON file about a file of obfuscated queries."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from quipukit.cli.console import plain, print_table, progress, say


def card(
    obfuscated: Path = typer.Argument(help="Obfuscated queries: a file or a folder, our own or a published layout."),
    queries: Path | None = typer.Option(None, help="The originals; the published layouts bring their own."),
    collection: str | None = typer.Option(
        None, help="Documents and judgments, for utility: wordnet, irds:ID, a folder. [no utility]"
    ),
    log: str | None = typer.Option(
        None, help="The attacker's query log, as in `quipukit attack`. [the collection's own, or wordnet]"
    ),
    attackers: list[str] = typer.Option(
        ["panel"], "--attackers", metavar="NAME ...", help="Who attacks; the first is shown beside the strongest."
    ),
    encoder: str = typer.Option("minilm", help="For attackers that name none, as in `quipukit attack`."),
    retriever: str = typer.Option("bm25", help="What searches the collection: bm25, dense, dense:MODEL."),
    reranker: str = typer.Option("minilm", help="What re-ranks with the original: an encoder's name, bm25, or none."),
    measure: list[str] = typer.Option([], "--measure", help="Measures of utility; several. [nDCG@10 SetR P@10]"),
    k: int = typer.Option(10, "-k", min=1, help="Guesses that the active persona reads: R@k."),
    depth: int | None = typer.Option(None, min=1, help="Documents per obfuscated query. [1 % of the collection / N]"),
    output: Path = typer.Option(
        Path("card.html"), "-o", "--output", help="The page; the JSON file is written beside it."
    ),
) -> None:
    """Say on one page what a file of obfuscated queries gives away and what it finds: to be linked from a paper.

    The page needs no network and holds no text of a query; the JSON file beside it has the same numbers for machines.

    \b
    Examples:
      quipukit card published/dl19/CMP --log queries.tsv.gz
      quipukit card obfuscated.csv --collection wordnet -o paper/card.html
      quipukit card obfuscated.csv --queries topics.tsv --log log.tsv --attackers QuIA Words
    """
    from quipukit.io.queries import read_queries
    from quipukit.report.card import MEASURES, checked_page
    from quipukit.report.card import card as make

    checked_page(output)
    with ExitStack() as shown:
        made = make(
            obfuscated,
            None if queries is None else read_queries(queries),
            log,
            collection,
            attackers=attackers,
            encoder=encoder,
            retriever=retriever,
            reranker=reranker,
            measures=measure or MEASURES,
            k=k,
            depth=depth,
            stages=lambda what: shown.enter_context(progress(what)),
        )
    page, data = made.write(output)
    table = made.settings
    shown_columns = [name for name in table.columns if name not in ("parameter", "kept_as_is")]
    rows = [
        [str(row["mechanism"]), *(_cell(name, row[name]) for name in shown_columns[1:])]
        for row in table.to_dict("records")
    ]
    print_table("", [name.replace("strongest", "at least") for name in shown_columns], rows)
    for note in made.facts["notes"]:
        say(f"warning: {note}")
    say(f"wrote {page} and {data}")


def _cell(name: str, value: Any) -> str:
    return plain(value) if name in ("value", "n", "budget") else f"{value:.3f}"
