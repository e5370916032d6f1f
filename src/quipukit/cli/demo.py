"""``quipukit demo``: the main job in one command."""

from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import plain, print_table, progress, say, wide_enough
from quipukit.cli.obfuscate import note_lines

if TYPE_CHECKING:
    from quipukit.mechanisms.base import Mechanism

QUERIES = ("how does a tumor grow", "can i lose my house in a divorce", "symptoms of depression at work")
SPECS = (
    "Identity",
    "CMP@12.5",
    "Mahalanobis@12.5",
    "VickreyCMP@12.5",
    "VickreyMhl@12.5",
    "CusText@5",
    "SanText@2",
    "SanText+@2",
    "TEM@2",
    "WBB@10",
    "AEA@3",
    "FEA@12",
    "Random",
)


def demo(
    n: int = typer.Option(2, "-n", "--variants", help="Variants per query."),
    seed: int = typer.Option(5, help="Root seed, so that the demo shows the same twice."),
) -> None:
    """Obfuscate three example queries with every mechanism.

    \b
    Example:
      quipukit demo -n 3
    """
    from quipukit.obfuscation import bind
    from quipukit.obfuscation import obfuscate as run

    say("preparing word vectors and WordNet (some seconds the first time)")
    mechanisms = bind(SPECS)
    with progress("obfuscating") as show:
        table = run(QUERIES, mechanisms, n, seed=seed, progress=show)
    names = [(one.spec.family, plain(one.value) if one.parameter else "") for one in mechanisms]

    def cell(one: "Mechanism", query: int) -> str:
        mine = (table["mechanism"] == one.spec.family) & (table["value"] == one.value)
        return "\n".join(table[mine & (table["qid"] == str(query + 1))]["query"]) or "(none found)"

    columns = [[cell(one, query) for one in mechanisms] for query in range(len(QUERIES))]
    if wide_enough(150):
        rows = [[*name, *cells] for name, *cells in zip(names, *columns, strict=True)]
        print_table(f"{n} variants of three queries", ["mechanism", "setting", *QUERIES], rows)
    else:
        for query, cells in zip(QUERIES, columns, strict=True):
            rows = [[*name, variants] for name, variants in zip(names, cells, strict=True)]
            print_table("", ["mechanism", "setting", query], rows)
    print_table(
        "What is promised, per word and variant",
        ["setting", "guarantee", "N", "composed budget"],
        [
            [
                repr(one.spec),
                str(one.guarantee),
                str(n),
                plain(one.value * n) if one.parameter == "epsilon" and one.guarantee.private else "",
            ]
            for one in mechanisms
        ],
    )
    for line in note_lines(table.attrs["notes"]):
        say(line)
