"""``quipukit utility``: what a run is worth."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, say
from quipukit.cli.run_folder import asked_queries, find_runs
from quipukit.deprecation import warn_deprecated
from quipukit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

JUDGED = "judged"


def utility(
    runs: list[Path] = typer.Argument(help="TREC runs, or folders of them."),
    collection: str | None = typer.Option(None, help="wordnet, irds:ID, or a folder: where the judgments are."),
    qrels: Path | None = typer.Option(None, help="A TREC file of judgments, instead of a collection."),
    measure: list[str] = typer.Option(
        [], "--measure", help="Measures by their names in ir_measures; several. [nDCG@10 SetR P@10 AP RR]"
    ),
    old_measure: list[str] = typer.Option([], "-m", hidden=True),
    queries: str | None = typer.Option(
        None, help=f"Queries to average over: a file, or '{JUDGED}' for all judged ones. [those of each run]"
    ),
    per_query: bool = typer.Option(False, help="One line per query instead of the mean."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """Measure runs against judgments: nDCG@10, pooled recall (SetR), P@10, AP, RR, or any name of ir_measures.

    The mean is over the judged queries of each run. Where `quipukit retrieve` wrote the run these are the queries that
    were asked, and one that found nothing counts 0; in any other run they are those that found something. With
    --queries, a query that is not in the run counts 0.

    \b
    Examples:
      quipukit utility runs/ --collection wordnet
      quipukit utility BM25.trec --qrels qrels.txt --measure nDCG@10 "R(rel=2)@100"
      quipukit utility run.trec --collection irds:vaswani --per-query --tsv
    """
    import pandas as pd

    from quipukit.io.trec import read_qrels, read_run
    from quipukit.measures.utility import DEFAULT_MEASURES, empty_pools
    from quipukit.measures.utility import utility as evaluate

    if old_measure:
        warn_deprecated("utility -m is deprecated, because -m means mechanism; write --measure.")
    if (collection is None) == (qrels is None):
        raise InputError("name the judgments: --collection wordnet, or --qrels qrels.txt.")
    if qrels is not None:
        judged = read_qrels(qrels)
    else:
        from quipukit.collections.load import load_collection

        judged = load_collection(str(collection)).qrels()
    useful = set(judged.loc[judged["relevance"] > 0, "qid"])
    chosen = _chosen(queries, useful)
    scores, said = [], _Notes()
    for name, file in find_runs(runs).items():
        run, setting = read_run(file).assign(mechanism=name), pd.DataFrame({"mechanism": [name]})
        if len(run) and not set(run["qid"]) & set(judged["qid"]):
            raise InputError(
                f"{name}: no query of the run is judged (first: {', '.join(run['qid'].unique()[:3])}); "
                "are these the judgments of another collection?"
            )
        asked = asked_queries(file)
        counted = _counted(name, run, asked, useful) if chosen is None else chosen
        scores.append(evaluate(run, judged, [*measure, *old_measure] or DEFAULT_MEASURES, setting, counted))
        [empty] = empty_pools(run, judged, setting, counted)["empty"]
        if empty:
            said.add(f"{empty} of {len(counted)} judged queries found nothing and count 0", name)
        if chosen is None and counted < useful:
            how = "in the run" if asked is None else "asked"
            said.add(f"measured over the {len(counted)} of {len(useful)} judged queries that are {how}", name)
    table = pd.concat(scores)
    _show(table, per_query, as_json, as_tsv)
    said.say()
    if table.groupby("mechanism")["qid"].agg(frozenset).nunique() > 1:
        say("note: the runs are not over the same queries; choose some with --queries to compare them")


def _chosen(queries: str | None, useful: set[str]) -> set[str] | None:
    """Return the judged queries that the user chose; None where they are those of each run."""
    if queries is None or queries == JUDGED:
        return useful if queries else None
    from quipukit.io.queries import read_queries

    chosen = useful & set(read_queries(queries)["qid"])
    if not chosen:
        raise InputError(
            f"{queries}: none of its queries has a relevant document among the judgments; check both files."
        )
    return chosen


def _counted(name: str, run: "pd.DataFrame", asked: list[str] | None, useful: set[str]) -> set[str]:
    """Return the judged queries that count: those asked, or, if these are not on record, those that found something."""
    if run.empty and asked is None:
        return useful  # which scores 0, no matter what was asked
    counted = useful & set(run["qid"] if asked is None else asked)
    if not counted:
        raise InputError(f"{name}: no query of the run has a relevant document; check the judgments.")
    return counted


class _Notes:
    """Notes about runs: each is printed once, with all the runs that it applies to."""

    def __init__(self) -> None:
        self._runs: dict[str, list[str]] = {}

    def add(self, note: str, run: str) -> None:
        self._runs.setdefault(note, []).append(run)

    def say(self) -> None:
        for note, runs in self._runs.items():
            say(f"note: {', '.join(runs)}: {note}")


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
        counts = sorted(set(table.groupby("run")["qid"].nunique()))
        caption = (
            "" if per_query else f"means over {' to '.join(map(str, counts[:: len(counts) - 1 or 1]))} judged queries"
        )
        print_table("", [str(column) for column in wide.columns], cells, caption)
