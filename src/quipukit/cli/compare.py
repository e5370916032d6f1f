"""``quipukit compare``: two results side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, print_tsv, print_wrapped

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.comparison import Comparison


def compare(
    first: Path = typer.Argument(help="A result, A: the folder that `quipukit evaluate -o` wrote."),
    second: Path = typer.Argument(help="Another result, B."),
    measure: str | None = typer.Option(None, help="Measure of utility. [the first that both have]"),
    system: str | None = typer.Option(None, help="Search system, in both. [the first of each]"),
    n: int | None = typer.Option(None, "-n", min=1, help="Of sweeps over N, which one. [the largest that both have]"),
    settings: bool = typer.Option(False, "--settings", help="Compare risk and utility of every setting too."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(
        False, "--tsv", help="Print tab-separated rows: the scores, or with --settings the settings."
    ),
) -> None:
    """Compare QuIPU and hypervolume of two results: what differs between the runs, which scores differ, if by chance.

    Where both are of the same queries, differences are formed query by query; else they are those of two independent
    samples. p comes from exchanged labels and from studentized draws, whichever is larger, and is corrected after Holm
    for all rows of the same attacker and persona; * marks p below 0.05. See docs/reliability.md for fewer than 20
    queries.

    \b
    Examples:
      quipukit compare runs/a runs/b
      quipukit compare runs/a runs/b --measure SetR --settings
      quipukit compare runs/a runs/b --json
    """
    from quipukit.comparison import compare_results
    from quipukit.results import Result

    comparison = compare_results(Result.load(first), Result.load(second), measure=measure, system=system, n=n)
    if as_json:
        print_json(_plain(comparison, first, second))
    elif as_tsv:
        print_tsv(comparison.settings if settings else comparison.scores)
    else:
        _show(comparison, first, second, settings)


def _show(comparison: "Comparison", first: Path, second: Path, settings: bool) -> None:
    from quipukit.measures.risk import risk_label

    sides = zip("AB", (first, second), comparison.systems, comparison.queries, strict=False)
    for letter, path, system, queries in sides:
        print_wrapped(f"{letter}: {path} ({system}, {queries} queries)", "   ")
    print()
    if comparison.differs.empty:
        print_wrapped("By their manifests the two runs were set up alike.")
    else:
        print_wrapped("What differs between the two runs; a difference of scores may come from any of it:")
        print_table("", ["", "A", "B"], [[row.what, row.first, row.second] for row in comparison.differs.itertuples()])
    titles = {"quipu": "QuIPU", "hypervolume": "Hypervolume"}
    several = comparison.scores["attacker"].nunique() > 1
    for (attacker, persona, score), rows in comparison.scores.groupby(["attacker", "persona", "score"], sort=False):
        who = risk_label(attacker, persona, several)
        _print_rows(f"{titles[score]}, {who} persona, {comparison.measure}", "mechanism", comparison, rows)
    if settings:
        for (side, attacker, persona), rows in comparison.settings.groupby(["side", "attacker", "persona"], sort=False):
            who = risk_label(attacker, persona, several)
            title = f"Utility, {comparison.measure}" if side == "utility" else f"Risk, {who} persona"
            _print_rows(title, "setting", comparison, rows)
    table = comparison.settings
    original = table[(table["mechanism"] == "Identity") & (table["side"] == "utility")]
    if not settings and len(original):
        _print_rows(f"Original queries, {comparison.measure}", "setting", comparison, original)
    print()
    drawn = "paired" if comparison.paired else "NOT paired"
    alpha = 1 - comparison.level
    print_wrapped(f"- Queries {drawn}, {comparison.replicates:,} replicates; * p (Holm) below {alpha:.2g}.")
    for note in comparison.notes:
        print_wrapped(f"- {note}", "  ")


def _print_rows(title: str, heading: str, comparison: "Comparison", rows: "pd.DataFrame") -> None:
    cells = [
        [
            row["mechanism"] if heading == "mechanism" else _setting(row),
            *(f"{row[side]:.3f}" for side in ("first", "second")),
            _signed(row["difference"]),
            "-" if row["low"] != row["low"] else f"[{_signed(row['low'])}, {_signed(row['high'])}]",
            _verdict(row, 1 - comparison.level),
        ]
        for row in rows.to_dict("records")
    ]
    print_table(title, [heading, "A", "B", "A - B", f"{100 * comparison.level:g} %", "p (Holm)"], cells)


def _verdict(row: dict[Any, Any], alpha: float) -> str:
    """Return the p-value, starred where it is small; a curve that cannot be ranked is never called better or worse."""
    if not row.get("rankable", True):
        return "not ranked"
    return f"{_p(row['p_holm'])}{' *' if row['p_holm'] < alpha else ''}"


def _signed(number: float) -> str:
    text = f"{number:+.3f}"
    return text if float(text) else "0.000"


def _p(p: float) -> str:
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def _setting(row: dict[Any, Any]) -> str:
    return f"{row['mechanism']}@{plain(row['value'])}" if row["parameter"] else str(row["mechanism"])


def _plain(comparison: "Comparison", first: Path, second: Path) -> dict[str, Any]:
    from dataclasses import fields

    record = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
    for name in ("differs", "scores", "settings"):
        record[name] = record[name].to_dict("records")
    record["queries"] = dict(zip(("first", "second", "common"), comparison.queries, strict=True))
    return {"first": str(first), "second": str(second), **record}
