"""``quipukit demo``: the main job in one command."""

import typer

from quipukit.cli.console import plain, print_table, progress, say
from quipukit.cli.obfuscate import budget_lines, note_lines

QUERIES = ("how do tumours grow", "can i lose my house in a divorce", "symptoms of depression at work")
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
    seed: int = typer.Option(7, help="Root seed, so that the demo shows the same twice."),
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
    rows = []
    for one in mechanisms:
        mine = table[(table["mechanism"] == one.spec.family) & (table["value"] == one.value)]
        cells = ["\n".join(mine[mine["qid"] == str(q)]["query"]) or "(none found)" for q in range(1, len(QUERIES) + 1)]
        rows.append([one.spec.family, plain(one.value) if one.parameter else "", *cells])
    print_table(f"{n} variants of three queries", ["mechanism", "setting", *QUERIES], rows)
    print_table("What is promised", ["setting: guarantee"], [[line] for line in budget_lines(mechanisms, n)])
    for line in note_lines(table.attrs["notes"]):
        say(line)
