"""``quipukit similarity``: the traditional view of how much a query was changed."""

import json
from pathlib import Path

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, progress
from quipukit.errors import InputError


def similarity(
    obfuscated: Path = typer.Argument(help="Obfuscated queries: a file or a folder, our own or the published layout."),
    queries: Path | None = typer.Option(None, help="The originals; the published layout brings its own."),
    encoder: str = typer.Option("minilm", help="minilm, static:VECTORS, any encoder by name or folder, or none."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Print Jaccard and sentence similarity, and how often words and whole queries stay unchanged, per setting.

    \b
    Examples:
      quipukit similarity obfuscated.csv --queries topics.tsv
      quipukit similarity published/dl19 --encoder none --tsv
    """
    from quipukit.encoders.load import load_encoder
    from quipukit.frames import SETTING, by_parameter
    from quipukit.io.obfuscated import read_obfuscated
    from quipukit.io.queries import read_queries
    from quipukit.measures.similarity import failure_rates
    from quipukit.measures.similarity import similarity as measure
    from quipukit.settings import composed_budget

    table, originals = read_obfuscated(obfuscated)
    asked = read_queries(queries) if queries else originals
    if asked.empty:
        raise InputError("the file does not hold the original queries; give them with --queries topics.tsv.")
    with progress("encoding") as show:
        # In memory: vectors of originals and of what was sent for them belong into no cache.
        if encoder == "none":
            means = measure(table, asked, None)
        else:
            model = load_encoder(encoder)
            means = measure(table, asked, lambda texts: model.encode(texts, "query", show))
    rates = failure_rates(table, asked)
    means = by_parameter(means.merge(rates, on=list(SETTING)))
    means["N"] = means["variants"] // means["queries"]
    means["budget"] = [composed_budget(*row) for row in means[[*SETTING, "N"]].itertuples(index=False, name=None)]
    if as_json:
        print_json(json.loads(means.to_json(orient="records")))
    elif as_tsv:
        print_tsv(means)
    else:
        numbers = ["jaccard", "sentence_similarity", "tokens", "verbatim", "any_verbatim"]
        rows = [
            [
                row["mechanism"],
                plain(row["value"]) if row["parameter"] else "",
                plain(row["N"]),
                plain(row["budget"]),
                *(f"{row[name]:.3f}" if row[name] == row[name] else "" for name in numbers),
            ]
            for row in means.to_dict("records")
        ]
        headings = [
            "mechanism",
            "value",
            "N",
            "N x epsilon",
            "jaccard",
            "sentence",
            "same words",
            "verbatim",
            "any verbatim",
        ]
        print_table("", headings, rows)
