"""``quipukit attack``: who can still guess what was asked."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, progress, say
from quipukit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.attackers.attack import Coverage
    from quipukit.attackers.base import Attacker


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
    from quipukit.measures.strongest import gaps
    from quipukit.report.attacker_gaps import in_words

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
    if remark := report.remark():
        say(f"warning: {remark}")
    if not inject and not report.coverage.in_log:
        say("warning: the log holds none of the originals, so every risk is 0 by construction; leave out --no-inject")
    if output is not None:
        write_table(ranks, output)
        say(f"wrote {len(ranks):,} ranks to {output}")
    encodes = any("encoder" in resource_names(type(one)) for one in report.panel.attackers if not _own_encoder(one))
    scores = risk(ranks, k)
    means = _summary(scores, ranks, table)
    part = in_words(gaps(scores, f"R@{k}"), len(means[["mechanism", "parameter", "value"]].drop_duplicates()))
    if part:
        say(f"warning: {part}")
    names = list(dict.fromkeys(ranks["attacker"]))
    if as_json:
        facts = {**asdict(report.coverage), "encoder": encoder, "attackers": names, "warning": part}
        print_json({**facts, "settings": json.loads(means.to_json(orient="records"))})
    elif as_tsv:
        print_tsv(means)
    else:
        _print(means, list(dict.fromkeys(scores["measure"])), names, _caption(report.coverage, names, encoder, encodes))
    if show:
        _print_guesses(report.guesses(show))


def _own_encoder(attacker: "Attacker") -> bool:
    return "encoder" in dict(attacker.spec.options)


def _stages(stack: ExitStack) -> Callable[[str], Callable[[float, float], None]]:
    return lambda what: stack.enter_context(progress(what))


def _summary(scores: "pd.DataFrame", ranks: "pd.DataFrame", table: "pd.DataFrame") -> "pd.DataFrame":
    """Return the risks of every setting and attacker with their intervals, and of the strongest who it is."""
    import pandas as pd

    from quipukit.frames import SETTING, by_parameter
    from quipukit.measures.strongest import STRONGEST, risk_intervals
    from quipukit.settings import composed_budget

    setting = list(SETTING)
    keys = [*setting, "attacker"]
    measures = list(dict.fromkeys(scores["measure"]))
    risks = risk_intervals(scores).set_index([*keys, "measure"]).unstack("measure")
    means = pd.DataFrame({name: risks["risk"][name] for name in measures})
    means["median rank"] = ranks.groupby(keys, sort=False)["log_rank"].median()
    for name in measures:
        means[f"{name} low"], means[f"{name} high"] = risks["low"][name], risks["high"][name]
    # In the order of the ranks, the strongest after the others.
    order = {name: number for number, name in enumerate([*dict.fromkeys(ranks["attacker"]), STRONGEST])}
    means = means.sort_index(level="attacker", key=lambda names: names.map(order), sort_remaining=False)
    if STRONGEST in means.index.get_level_values("attacker"):
        named = means.groupby(setting, sort=False).apply(lambda own: _who(own, measures))
        for name in measures:
            means[f"{name} by"] = [named[place[:-1]][name] if place[-1] == STRONGEST else "" for place in means.index]
    most = table.groupby([*setting, "qid"], sort=False).size().groupby(setting, sort=False).max().rename("N")
    means = means.reset_index().merge(most.reset_index(), on=setting, how="left")
    means["budget"] = [composed_budget(*row) for row in means[[*SETTING, "N"]].itertuples(index=False, name=None)]
    return by_parameter(means)


def _who(own: "pd.DataFrame", measures: list[str]) -> dict[str, str]:
    """Return who is the strongest at a setting by each measure; of several with the same risk, by the others."""
    attackers = own.iloc[:-1]
    found = {}
    for name in measures:
        order = attackers.sort_values(list(dict.fromkeys([name, *measures])), ascending=False, kind="stable")
        found[name] = str(order.index.get_level_values("attacker")[0]) if attackers[name].max() > 0 else ""
    return found


def _caption(facts: "Coverage", names: list[str], encoder: str, encodes: bool) -> str:
    caption = (
        f"{', '.join(names)}{f' with {encoder}' if encodes else ''} against {facts.log_size:,} queries; of "
        f"{facts.queries} originals the log held {facts.in_log}, {facts.injected} were added"
    )
    if facts.no_obfuscation:
        caption += f"; {facts.no_obfuscation} time(s) a setting sent nothing for a query, which counts as risk 0"
    if len(names) > 1:
        return (
            f"{caption}. At least: the risk against the strongest attacker by each measure, a lower bound, with a 95 % "
            "interval that allows for the choice of the strongest; --tsv shows all of them"
        )
    return f"{caption}. In brackets: 95 % intervals"


def _print(means: "pd.DataFrame", measures: list[str], names: list[str], caption: str) -> None:
    """Print one attacker's risks; of several the first one's beside those of whoever is the strongest."""
    several = len(names) > 1
    rows = []
    for _, own in means.groupby(["mechanism", "parameter", "value"], sort=False):
        base, last = own.iloc[0], own.iloc[-1]
        head = [str(base["mechanism"]), plain(base["value"]) if base["parameter"] else "", str(base["N"])]
        row = [*head, plain(base["budget"]), *(f"{base[name]:.3f}" for name in measures if several)]
        row += [f"{last[name]:.3f} [{last[f'{name} low']:.2f}, {last[f'{name} high']:.2f}]" for name in measures]
        rank = base["median rank"]
        rows.append([*row, _strongest(last, measures) if several else f"{rank:,.1f}" if rank < float("inf") else "-"])
    heads = [*(f"{names[0]} {name}" for name in measures), *(f"at least {name}" for name in measures), "strongest"]
    heads = heads if several else [*measures, "median rank"]
    print_table("", ["mechanism", "value", "N", "N x epsilon", *heads], rows, caption)


def _strongest(row: "pd.Series[Any]", measures: list[str]) -> str:
    """Return who is the strongest, with the measures of each where they are several."""
    by: dict[str, list[str]] = {}
    for name in measures:
        if row[f"{name} by"]:
            by.setdefault(row[f"{name} by"], []).append(name)
    if len(by) < 2:
        return next(iter(by), "-")
    return "; ".join(f"{who} ({', '.join(own)})" for who, own in by.items())


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
