"""``quipukit attack``: who can still guess what was asked."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, progress, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def attack(
    obfuscated: Path = typer.Argument(help="Obfuscated queries: a file or a folder, our own or the published layout."),
    log: str = typer.Option(
        ..., help="The attacker's query log: text, TSV, CSV, Parquet (gz too), irds:ID, or wordnet."
    ),
    queries: Path | None = typer.Option(None, help="The originals; the published layout brings its own."),
    collection: str | None = typer.Option(
        None, help="Take the originals from a collection: wordnet, irds:ID, a folder."
    ),
    encoder: str = typer.Option("minilm", help="minilm, or any sentence encoder by name or folder."),
    k: int = typer.Option(10, "-k", min=1, help="Guesses of the active attacker: R@k."),
    inject: bool = typer.Option(True, help="Complete the log with the originals, as the paper does."),
    show: int = typer.Option(0, "--show", min=0, help="Print the best guesses for every query, this many."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Write the ranks to a .csv, .tsv, .jsonl or .parquet file."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Attack obfuscated queries as a curious search system would (QuIA), and print the risk of every setting.

    P@1 is the risk against a lazy attacker, R@k against an active one, RR against a motivated one.

    \b
    Examples:
      quipukit attack obfuscated.csv --queries topics.tsv --log log.tsv
      quipukit attack published/dl19 --log queries.tsv.gz -o ranks.parquet
      quipukit attack obfuscated.csv --queries topics.tsv --log log.tsv --show 10
      quipukit attack obfuscated.csv --collection wordnet --log wordnet
    """
    from quipukit.attackers.quia import never_sent, prepare
    from quipukit.io.obfuscated import read_obfuscated
    from quipukit.io.queries import read_queries
    from quipukit.io.tables import write_table
    from quipukit.measures.risk import risk

    table, originals = read_obfuscated(obfuscated)
    asked = read_queries(queries) if queries else originals
    if collection is not None:
        from quipukit.collections.load import load_collection

        asked = load_collection(collection).queries()
    if asked.empty:
        raise InputError("the file does not hold the original queries; give them with --queries topics.tsv.")
    with ExitStack() as shown:
        seen = prepare(table, asked, log, encoder, inject, _stages(shown))
        ranks = seen.ranks(_stages(shown)("ranking the log"))
    unsent = never_sent(table, asked)
    if unsent:
        say(
            f"warning: for {unsent} of {len(asked)} queries no setting sent anything, so they count as risk 0; if they "
            "were never obfuscated, give with --queries those that were"
        )
    if not inject and not ranks.attrs["in_log"]:
        say("warning: the log holds none of the originals, so every risk is 0 by construction; leave out --no-inject")
    if output is not None:
        write_table(ranks, output)
        say(f"wrote {len(ranks):,} ranks to {output}")
    _print(_summary(risk(ranks, k), ranks, table), ranks.attrs, encoder, as_json, as_tsv)
    if show:
        _print_guesses(seen.guesses(show))


def _stages(stack: ExitStack) -> Callable[[str], Callable[[float, float], None]]:
    return lambda what: stack.enter_context(progress(what))


def _summary(scores: "pd.DataFrame", ranks: "pd.DataFrame", table: "pd.DataFrame") -> "pd.DataFrame":
    from quipukit.frames import SETTING, by_parameter

    keys = list(SETTING)
    means = scores.groupby([*keys, "measure"], sort=False)["score"].mean().unstack("measure")
    means = means[list(dict.fromkeys(scores["measure"]))]
    means["median rank"] = ranks.groupby(keys, sort=False)["log_rank"].median()
    means["N"] = table.groupby([*keys, "qid"], sort=False).size().groupby(keys, sort=False).max()
    means = means.reset_index()
    means["budget"] = (means["value"] * means["N"]).where(means["parameter"] == "epsilon")
    return by_parameter(means)


def _print(means: "pd.DataFrame", facts: dict[str, Any], encoder: str, as_json: bool, as_tsv: bool) -> None:
    if as_json:
        rows = json.loads(means.to_json(orient="records"))
        print_json({**facts, "encoder": encoder, "settings": rows})
        return
    if as_tsv:
        print_tsv(means)
        return
    measures = [column for column in means.columns if column not in ("mechanism", "parameter", "value", "N", "budget")]
    rows = [
        [
            row["mechanism"],
            plain(row["value"]) if row["parameter"] else "",
            str(row["N"]),
            plain(row["budget"]),
            *(
                f"{row[m]:.3f}" if m != "median rank" else (f"{row[m]:,.1f}" if row[m] < float("inf") else "-")
                for m in measures
            ),
        ]
        for row in means.to_dict("records")
    ]
    caption = (
        f"QuIA with {encoder} against {facts['log_size']:,} queries; of {facts['queries']} originals the log held "
        f"{facts['in_log']}, {facts['injected']} were added"
    )
    if facts["no_obfuscation"]:
        caption += f"; {facts['no_obfuscation']} time(s) a setting sent nothing for a query, which counts as risk 0"
    print_table("", ["mechanism", "value", "N", "N x epsilon", *measures], rows, caption)


def _print_guesses(guesses: "pd.DataFrame") -> None:
    for (mechanism, _, value, qid), group in guesses.groupby(["mechanism", "parameter", "value", "qid"], sort=False):
        rows = [
            [str(row.guess), f"{row.similarity:.3f}", "<- the original" if row.hit else "", row.query]
            for row in group.itertuples()
        ]
        print_table(f"{mechanism}@{plain(value)}, query {qid}", ["guess", "similarity", "", "log query"], rows)
