"""``quipukit utility``: what a run is worth."""

from pathlib import Path

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, say
from quipukit.errors import InputError


def utility(
    runs: list[Path] = typer.Argument(help="TREC runs, or folders of them."),
    collection: str | None = typer.Option(None, help="wordnet, irds:ID, or a folder: where the judgements are."),
    qrels: Path | None = typer.Option(None, help="A TREC file of judgements, instead of a collection."),
    measure: list[str] = typer.Option(
        [], "-m", "--measure", help="Any name of ir_measures; repeat. [nDCG@10 SetR P@10 AP RR]"
    ),
    per_query: bool = typer.Option(False, help="One line a query instead of the mean."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Measure runs against judgements: nDCG@10, pooled recall (SetR), P@10, AP, RR, or any name of ir_measures.

    \b
    Examples:
      quipukit utility runs/ --collection wordnet
      quipukit utility BM25.trec --qrels qrels.txt -m nDCG@10 -m "R(rel=2)@100"
      quipukit utility run.trec --collection irds:vaswani --per-query --tsv
    """
    import pandas as pd

    from quipukit.measures.utility import DEFAULT_MEASURES, empty_pools
    from quipukit.measures.utility import utility as evaluate
    from quipukit.trec import read_qrels, read_run

    if (collection is None) == (qrels is None):
        raise InputError("say where the judgements are: --collection wordnet, or --qrels qrels.txt.")
    if qrels is not None:
        judged = read_qrels(qrels)
    else:
        from quipukit.collections.load import load_collection

        judged = load_collection(str(collection)).qrels()
    files = [file for path in runs for file in (sorted(path.glob("*.trec*")) if path.is_dir() else [path])]
    if not files:
        raise InputError(f"{runs[0]} holds no run; runs end in .trec.")
    names = [file.name.removesuffix(".gz").removesuffix(".trec") for file in files]
    found = pd.concat([read_run(file).assign(mechanism=name) for file, name in zip(files, names, strict=True)])
    unknown = sorted(set(found["qid"]) - set(judged["qid"]))
    if unknown and len(unknown) == found["qid"].nunique():
        raise InputError(
            f"no query of the runs is judged (first: {', '.join(unknown[:3])}); "
            "are these the judgements of another collection?"
        )
    settings = pd.DataFrame({"mechanism": names})
    _show(evaluate(found, judged, measure or DEFAULT_MEASURES, settings), per_query, as_json, as_tsv)
    by_count: dict[str, list[str]] = {}
    for row in empty_pools(found, judged, settings).itertuples():
        if row.empty:
            by_count.setdefault(f"{row.empty} of {row.queries}", []).append(row.mechanism)
    for count, runs_with in by_count.items():
        say(f"note: {', '.join(runs_with)}: {count} judged queries found nothing and count 0")


def _show(scores, per_query: bool, as_json: bool, as_tsv: bool) -> None:  # type: ignore[no-untyped-def]
    table = scores.rename(columns={"mechanism": "run"})
    keys = ["run", "qid"] if per_query else ["run"]
    wide = table.pivot_table(index=keys, columns="measure", values="score", aggfunc="mean", sort=False).reset_index()
    wide = wide[[*keys, *dict.fromkeys(table["measure"])]]
    if as_json:
        print_json(wide.to_dict("records"))
    elif as_tsv:
        print_tsv(wide)
    else:
        cells = [
            [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in wide.values.tolist()
        ]
        judged = table["qid"].nunique()
        print_table(
            "",
            [str(column) for column in wide.columns],
            cells,
            "" if per_query else f"means over {judged} judged queries",
        )
