"""``quipukit attack``: who can still guess what was asked."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, progress, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.attackers.attack import Coverage
    from quipukit.attackers.base import Attacker

_NAMES = ("mechanism", "parameter", "value", "attacker", "N", "budget")  # columns that are no measures


def attack(
    obfuscated: Path = typer.Argument(help="Obfuscated queries: a file or a folder, our own or the published layout."),
    log: str = typer.Option(
        ..., help="The attacker's query log: text, TSV, CSV, Parquet (gz too), irds:ID, or wordnet."
    ),
    queries: Path | None = typer.Option(None, help="The originals; the published layout brings its own."),
    collection: str | None = typer.Option(
        None, help="Take the originals from a collection: wordnet, irds:ID, a folder."
    ),
    attackers: list[str] = typer.Option(
        ["panel"],
        "--attackers",
        metavar="NAME ...",
        help="Who attacks: panel (all of the built-in ones that need only the log), QuIA, Words ..., or a plugin's.",
    ),
    encoder: str = typer.Option(
        "minilm",
        help="For attackers that name none: minilm, static:VECTORS (word vectors, quick), or any sentence encoder by "
        "name or folder.",
    ),
    vectors: str | None = typer.Option(
        None,
        help="Word vectors for attackers that name none: the mechanism's own, where they are known. [the default pack, "
        "and for Positional every other one on this machine too]",
    ),
    k: int = typer.Option(10, "-k", min=1, help="Guesses that the active persona reads: R@k."),
    inject: bool = typer.Option(True, help="Complete the log with the originals, as the paper does."),
    show: int = typer.Option(0, "--show", min=0, help="Print the best guesses for every query, this many."),
    output: Path | None = typer.Option(
        None, "-o", "--output", help="Write the ranks to a .csv, .tsv, .jsonl or .parquet file."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Attack obfuscated queries as a curious search system would, and print the risk of every setting and attacker.

    P@1 is the risk against the lazy persona of an attacker, R@k against the active one, RR against the motivated one;
    QuIA is the attacker of the paper.

    \b
    Examples:
      quipukit attack obfuscated.csv --queries topics.tsv --log log.tsv
      quipukit attack published/dl19 --log queries.tsv.gz -o ranks.parquet
      quipukit attack obfuscated.csv --queries topics.tsv --log log.tsv --show 10
      quipukit attack obfuscated.csv --collection wordnet --log wordnet --attackers QuIA Mine
    """
    from quipukit.attackers.attack import attack_report, never_sent
    from quipukit.attackers.base import resource_names
    from quipukit.attackers.registry import with_other_vectors
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
    if vectors is None:
        attackers = with_other_vectors(attackers)
    with ExitStack() as shown:
        report = attack_report(table, asked, log, encoder, inject, _stages(shown), attackers=attackers, vectors=vectors)
    ranks = report.ranks
    unsent = never_sent(table, asked)
    if unsent:
        say(
            f"warning: for {unsent} of {len(asked)} queries no setting sent anything, so they count as risk 0; if they "
            "were never obfuscated, give with --queries those that were"
        )
    if not inject and not report.coverage.in_log:
        say("warning: the log holds none of the originals, so every risk is 0 by construction; leave out --no-inject")
    if output is not None:
        write_table(ranks, output)
        say(f"wrote {len(ranks):,} ranks to {output}")
    encodes = any("encoder" in resource_names(type(one)) for one in report.panel.attackers if not _own_encoder(one))
    _print(_summary(risk(ranks, k), ranks, table), report.coverage, encoder, encodes, as_json, as_tsv)
    if show:
        _print_guesses(report.guesses(show))


def _own_encoder(attacker: "Attacker") -> bool:
    return "encoder" in dict(attacker.spec.options)


def _stages(stack: ExitStack) -> Callable[[str], Callable[[float, float], None]]:
    return lambda what: stack.enter_context(progress(what))


def _summary(scores: "pd.DataFrame", ranks: "pd.DataFrame", table: "pd.DataFrame") -> "pd.DataFrame":
    from quipukit.frames import SETTING, by_parameter
    from quipukit.settings import composed_budget

    setting = list(SETTING)
    keys = [*setting, "attacker"]
    means = scores.groupby([*keys, "measure"], sort=False)["score"].mean().unstack("measure")
    means = means[list(dict.fromkeys(scores["measure"]))]
    means["median rank"] = ranks.groupby(keys, sort=False)["log_rank"].median()
    most = table.groupby([*setting, "qid"], sort=False).size().groupby(setting, sort=False).max().rename("N")
    means = means.reset_index().merge(most.reset_index(), on=setting, how="left")
    means["budget"] = [composed_budget(*row) for row in means[[*SETTING, "N"]].itertuples(index=False, name=None)]
    return by_parameter(means)


def _print(means: "pd.DataFrame", facts: "Coverage", encoder: str, encodes: bool, as_json: bool, as_tsv: bool) -> None:
    names = list(dict.fromkeys(means["attacker"]))
    if as_json:
        rows = json.loads(means.to_json(orient="records"))
        print_json({**asdict(facts), "encoder": encoder, "attackers": names, "settings": rows})
        return
    if as_tsv:
        print_tsv(means)
        return
    caption = (
        f"{', '.join(names)}{f' with {encoder}' if encodes else ''} against {facts.log_size:,} queries; of "
        f"{facts.queries} originals the log held {facts.in_log}, {facts.injected} were added"
    )
    if facts.no_obfuscation:
        caption += f"; {facts.no_obfuscation} time(s) a setting sent nothing for a query, which counts as risk 0"
    measures = [column for column in means.columns if column not in _NAMES]
    if len(names) > 1:
        _print_strongest(means, [name for name in measures if name != "median rank"], caption)
        return
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
    print_table("", ["mechanism", "value", "N", "N x epsilon", *measures], rows, caption)


def _print_strongest(means: "pd.DataFrame", measures: list[str], caption: str) -> None:
    """Print the first attacker's risks beside those of whoever is the strongest; --tsv has every attacker."""
    first = str(means["attacker"].iloc[0])
    rows = []
    for (mechanism, parameter, value), own in means.groupby(["mechanism", "parameter", "value"], sort=False):
        base = own[own["attacker"] == first].iloc[0]
        # By R@k; of several with the same, whoever is stronger by the others.
        order = [measures[min(1, len(measures) - 1)], *measures]
        best = own.sort_values(list(dict.fromkeys(order)), ascending=False, kind="stable")["attacker"].iloc[0]
        rows.append(
            [
                str(mechanism),
                plain(value) if parameter else "",
                str(base["N"]),
                plain(base["budget"]),
                *(f"{base[name]:.3f}" for name in measures),
                *(f"{own[name].max():.3f}" for name in measures),
                str(best) if own[measures].to_numpy().max() > 0 else "-",
            ]
        )
    heads = [*(f"{first} {name}" for name in measures), *(f"at least {name}" for name in measures), "strongest"]
    note = f"{caption}. At least: the risk against the strongest attacker, a lower bound; --tsv shows all of them"
    print_table("", ["mechanism", "value", "N", "N x epsilon", *heads], rows, note)


def _print_guesses(guesses: "pd.DataFrame") -> None:
    keys = ["mechanism", "parameter", "value", "qid", "attacker"]
    several = guesses["attacker"].nunique() > 1
    for (mechanism, _, value, qid, attacker), group in guesses.groupby(keys, sort=False):
        rows = [
            [str(row.guess), f"{row.similarity:.3f}", "<- the original" if row.hit else "", row.query]
            for row in group.itertuples()
        ]
        title = f"{mechanism}@{plain(value)}, query {qid}" + (f", {attacker}" if several else "")
        print_table(title, ["guess", "score", "", "log query"], rows)
