"""``quipukit retrieve``: obfuscated queries through a search system, pooled and re-ranked."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quipukit.cli.console import progress, say
from quipukit.cli.run_folder import Setting, refuse_strangers, run_names, write_runs
from quipukit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from quipukit.io.ir_metadata import Stage

RERANK_ON_HELP = "What is re-ranked: the 'text' of documents, or the title and 'snippet' that the engine shows."


def retrieve(
    obfuscated: Path = typer.Argument(help="Obfuscated queries: a file or a folder, our own or the published layout."),
    collection: str = typer.Option("wordnet", help="wordnet, irds:ID, or a folder with docs, topics.tsv, qrels.txt."),
    output: Path = typer.Option(..., "-o", "--output", help="Folder for the runs, one TREC file per setting."),
    retriever: str = typer.Option("bm25", help="bm25, dense, dense:MODEL, or an engine's address."),
    reranker: str = typer.Option(
        "minilm", help="What re-ranks on this machine: an encoder's name (minilm, static, ...), bm25, or none."
    ),
    rerank_on: str = typer.Option("text", help=RERANK_ON_HELP),
    depth: int | None = typer.Option(None, min=1, help="Documents per obfuscated query. [1 % of the collection / N]"),
    queries: Path | None = typer.Option(None, help="The original queries, if the collection does not have them."),
    raw: bool = typer.Option(
        False, "--raw", help="Write the result lists as they are (qid#variant), neither pooled nor re-ranked."
    ),
    send_originals: bool = typer.Option(
        False, "--send-originals", help="Allow original queries in the file to be sent to a remote engine."
    ),
) -> None:
    """Send obfuscated queries to a search system, pool the answers, and re-rank them with the original query.

    Beside each run stands what it was made with, by the ir_metadata schema (ir-metadata/RUN.yml).

    \b
    Examples:
      quipukit retrieve obfuscated.csv -o runs/
      quipukit retrieve obfuscated.csv --collection irds:vaswani --retriever bm25 --reranker bm25 -o runs/
      quipukit retrieve obfuscated.csv --retriever anserini+http://127.0.0.1:8081/INDEX -o runs/ --raw
      quipukit retrieve obfuscated.csv --collection FOLDER --retriever ADDRESS --reranker none -o runs/
      quipukit retrieve obfuscated.csv --collection FOLDER --retriever ADDRESS --rerank-on snippet -o runs/
    """
    from quipukit.collections.load import load_collection
    from quipukit.frames import SETTING
    from quipukit.io.ir_metadata import Stage
    from quipukit.io.obfuscated import read_obfuscated
    from quipukit.io.queries import read_queries
    from quipukit.io.trec import check_ids
    from quipukit.retrieval.consent import check_consent, outgoing, sent_in_words
    from quipukit.retrieval.fusion import NO_RERANKER, K, fused_pool
    from quipukit.retrieval.pool import depth_for, pool_rankings, search_distinct
    from quipukit.retrieval.pool import retrieve as run_all
    from quipukit.retrieval.rerank import fused_ranked, rerank
    from quipukit.retrieval.snippets import reranker_on
    from quipukit.retrieval.system import SystemSpec

    if output.exists() and not output.is_dir():
        raise InputError(f"{output} is a file; name a folder for the runs.")
    table, originals = read_obfuscated(obfuscated)
    # Before the work: what a TREC file cannot hold, or a folder already holds.
    asked_ids = table["qid"].drop_duplicates().tolist()
    check_ids(asked_ids, "query id")
    names = run_names(table[list(SETTING)].drop_duplicates().itertuples(index=False, name=None))
    refuse_strangers(output, names.values())
    spec = SystemSpec(retriever, NO_RERANKER if raw else reranker_on(reranker, rerank_on))
    documents = load_collection(collection, documents=spec.needs_documents)
    # An engine can die in mid-run; what it has answered is kept, and the next run asks only for the rest.
    with progress("indexing") as show:
        system = spec.load_retriever(documents, answers=output / "answers", progress=show)
    known = read_queries(queries) if queries else originals
    asked = known if len(known) else documents.queries()
    if not raw or (system.remote and not send_originals):
        _refuse_strangers(table, asked)
    if system.remote:
        # The originals in a file of obfuscated queries count, even if --queries names others.
        check_consent(table, system.name, [asked, originals], send_originals)
    else:
        check_ids((docno for docno, _ in documents.documents()), "docno")
    depth = depth or depth_for(table, documents)
    # What an engine shows is there only after the search.
    late = spec.remote and spec.on_snippets
    with progress("indexing") as show:
        scorer = None if late or not spec.reranks else spec.load_scorer(documents, progress=show)
    if system.remote:
        sending = outgoing(table["query"], system.name, asked["query"])
        if not set(table["qid"]) <= set(asked["qid"]):
            sending["originals"] = None
        say(f"over the network: {sent_in_words(sending)}")
    searched = Stage(spec.retriever_name, spec.retriever_name, {"depth": depth})
    if raw:
        with progress("searching") as show:
            run = run_all(table, documents, system, depth, show, queries=asked, send_originals=send_originals)
        _write(run.assign(qid=_numbered(run)), output, names, list(dict.fromkeys(_numbered(table))))
        _describe(table, output, names, documents.name, [searched])
        return
    with progress("searching") as show:
        rankings = search_distinct(table["query"].tolist(), system, depth, show)
    stages = [searched, Stage("pool", "union of the lists of all variants")]
    if spec.reranks:
        if scorer is None:
            scorer = spec.load_scorer(documents, answers=output / "answers")
        with progress("re-ranking") as show:
            ranked = rerank(pool_rankings(table, rankings), asked, documents, scorer, show)
        stages.append(Stage(spec.reranker_name, spec.reranker_name, reranks="pool"))
    else:
        ranked = fused_ranked(fused_pool(table, rankings))
        stages.append(Stage("fusion", "reciprocal ranks of the lists of all variants", {"k": K}))
    _write(ranked, output, names, asked_ids)
    _describe(table, output, names, documents.name, stages)
    done = "re-ranked" if spec.reranks else "fused by rank"
    distinct, total = len(rankings), len(table)
    say(f"asked {distinct:,} distinct of {total:,} obfuscated queries, {depth} documents each; pooled and {done}")


def _numbered(table: "pd.DataFrame") -> list[str]:
    return [f"{qid}#{variant}" for qid, variant in zip(table["qid"], table["variant"], strict=True)]


def _refuse_strangers(table: "pd.DataFrame", queries: "pd.DataFrame") -> None:
    missing = sorted(set(table["qid"]) - set(queries["qid"]))
    if missing:
        raise InputError(
            f"{len(missing)} obfuscated queries have no original (first: {', '.join(missing[:3])}); "
            "give the originals with --queries topics.tsv."
        )


def _write(run: "pd.DataFrame", folder: Path, names: dict[Setting, str], asked: Sequence[str]) -> None:
    nothing = write_runs(run, folder, names, asked)
    say(f"wrote {len(names)} run(s) to {folder}")
    if nothing:
        say(f"note: nothing at all was found by {', '.join(nothing)}")


def _describe(
    table: "pd.DataFrame", folder: Path, names: dict[Setting, str], collection: str, stages: "Sequence[Stage]"
) -> None:
    """Write beside every run what it was made with; the variants come first."""
    from quipukit.frames import SETTING
    from quipukit.io.ir_metadata import Metadata, Stage, sidecar_of

    counts = table.groupby([*SETTING, "qid"], observed=True).size().groupby(list(SETTING), observed=True).max()
    for setting, name in names.items():
        obfuscation = Stage("obfuscation", name, {"variants": int(counts[setting])})
        metadata = Metadata(name, [obfuscation, *stages], collection, command="quipukit retrieve")
        metadata.write(sidecar_of(folder / f"{name}.trec"))
