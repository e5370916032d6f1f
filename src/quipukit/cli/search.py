"""``quipukit search``: private search in a terminal; and ``quipukit mcp``, the same for agents."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import print_table, print_wrapped, say
from quipukit.errors import EngineError, InputError, LimitError, SearchError
from quipukit.terminal import visible, visible_json

if TYPE_CHECKING:
    from quipukit.search.answers import Answer, Preview
    from quipukit.search.conclusions import Conclusions
    from quipukit.search.private import PrivateSearch

_SHOWN = 8  # of the texts that left
_ENGINE = typer.Option(
    "wordnet", "--engine", help="wordnet (built in), a collection's folder, or an engine's address: docs/engines.md."
)
_MECHANISM = typer.Option(None, "-m", "--mechanism", help="What hides the query, as 'Cover@100'. [a sticky cover]")
_VARIANTS = typer.Option(None, "-n", "--variants", help="Variants, for mechanisms that draw them. [20]")
_DEPTH = typer.Option(10, min=1, help="Documents per text that leaves, and documents shown.")
_RERANKER = typer.Option("static", help="What re-ranks on this machine: an encoder's name, bm25; none: by rank alone.")
_RERANK_ON = typer.Option(
    None, help="What is re-ranked: 'text' or 'snippet'. [text if the documents are here, else snippet]"
)
_MEMO = typer.Option(True, help="Send the same variants again for a query that is asked again.")
_LEDGER = typer.Option(None, help="The file that counts what was released; 'none' counts in memory. [QUIPUKIT_LEDGER]")
_CONCURRENCY = typer.Option(4, min=1, help="Requests under way at once.")
_GAP = typer.Option(0.3, min=0.0, help="The longest random pause before a request, in seconds.")


def search(
    words: list[str] = typer.Argument(None, hidden=True),
    engine: str = _ENGINE,
    mechanism: str | None = _MECHANISM,
    n: int | None = _VARIANTS,
    depth: int = _DEPTH,
    reranker: str = _RERANKER,
    rerank_on: str | None = _RERANK_ON,
    memo: bool = _MEMO,
    ledger: str | None = _LEDGER,
    keep_queries: bool = typer.Option(False, "--keep-queries", help="Write the queries themselves into the ledger."),
    concurrency: int = _CONCURRENCY,
    gap: float = _GAP,
    log: str | None = typer.Option(
        None, help="Show what the engine could conclude, knowing a query log: a file, or wordnet (takes some seconds)."
    ),
    over_limit: bool = typer.Option(False, "--over-limit", help="Search even if it crosses a limit of the ledger."),
    all_texts: bool = typer.Option(False, "--all-texts", help=f"List all texts that leave, not the first {_SHOWN}."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Show what would leave, and send nothing."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, one line per query."),
) -> None:
    """Search without telling the engine what you search for.

    Queries are asked for, or read from standard input, one per line; an empty line ends. They are one session: with the
    default mechanism a query on a topic that was searched before is answered from what was fetched, and sends nothing.

    \b
    Examples:
      quipukit search                                            (the built-in collection)
      quipukit search --dry-run < queries.txt                    (what would leave)
      quipukit search --engine searxng+https://searx.example.org
      quipukit search --engine "opensearch+https://host:9200/news?field=body&title=headline&snippet=body" --json
      quipukit search -m VickreyMhl@10 -n 20 --log wordnet
    """
    if words:
        raise InputError(
            "a query on the command line shows in the list of processes and in the shell's history; type it when it is "
            "asked for, or pipe it in: quipukit search < file. (Remove this line from your history.)"
        )
    opened = _open(engine, mechanism, n, depth, reranker, rerank_on, memo, ledger, keep_queries, concurrency, gap)
    if not as_json:
        say(opened.reason)
    failed = False
    for query in _queries():
        try:
            if dry_run:
                _show(None, opened.preview(query), None, as_json, all_texts)
                continue
            answer = _answer(opened, query, over_limit)
        except (EngineError, InputError, SearchError) as fault:
            # One query that fails does not end the session.
            failed = True
            say(f"quipukit: {fault}")
            continue
        _show(answer, answer.preview, _conclusions(opened, query, answer.preview, log), as_json, all_texts)
    if failed:
        raise typer.Exit(2)


def mcp(
    engine: str = _ENGINE,
    mechanism: str | None = _MECHANISM,
    n: int | None = _VARIANTS,
    depth: int = _DEPTH,
    reranker: str = _RERANKER,
    rerank_on: str | None = _RERANK_ON,
    memo: bool = _MEMO,
    ledger: str | None = _LEDGER,
    concurrency: int = _CONCURRENCY,
    gap: float = _GAP,
) -> None:
    """Serve private search to agents, as an MCP server over standard input and output.

    Tools: private_search (documents for a query, and what the engine saw) and what_would_leave (sends nothing). Needs
    `pip install 'quipukit[mcp]'`.

    \b
    Examples, as the command of a server in an agent's settings:
      quipukit mcp
      quipukit mcp --engine searxng+https://searx.example.org -m StickyCover@200
    """
    from quipukit.search.mcp_server import make_server

    make_server(
        lambda: _open(engine, mechanism, n, depth, reranker, rerank_on, memo, ledger, False, concurrency, gap)
    ).run("stdio")


def _open(
    engine: str,
    mechanism: str | None,
    n: int | None,
    depth: int,
    reranker: str,
    rerank_on: Any,
    memo: bool,
    ledger: str | None,
    keep_queries: bool,
    concurrency: int,
    gap: float,
) -> "PrivateSearch":
    from quipukit.search.ledger import IN_MEMORY, Ledger
    from quipukit.search.private import PrivateSearch

    counted = Ledger(IN_MEMORY if ledger == "none" else ledger, keep_queries=keep_queries)
    return PrivateSearch(
        engine,
        mechanism,
        n,
        reranker=reranker,
        rerank_on=rerank_on,
        depth=depth,
        ledger=counted,
        memo=memo,
        concurrency=concurrency,
        gaps=(0.0, gap),
    )


def _queries() -> Iterator[str]:
    """Iterate over queries: typed, without a history that would keep them, or from a pipe."""
    terminal = sys.stdin.isatty()
    while True:
        if terminal:
            print("query (empty to end): ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line or (terminal and not line.strip()):
            return
        if line.strip():
            yield line.strip()


def _answer(opened: "PrivateSearch", query: str, over_limit: bool) -> "Answer":
    try:
        return opened.search(query, over_limit=over_limit)
    except LimitError as fault:
        if not sys.stdin.isatty():
            raise
        say(f"warning: {fault}")
    if not typer.confirm("search all the same?", default=False, err=True):
        raise InputError("not searched.")
    return opened.search(query, over_limit=True)


def _conclusions(opened: "PrivateSearch", query: str, preview: "Preview", log: str | None) -> "Conclusions | None":
    if log is None:
        return None
    from quipukit.search.conclusions import conclusions

    known = str(Path(log)) if Path(log).exists() else log
    return conclusions(preview.texts, known, opened.mechanism, query=query) if preview.texts else None


def _show(
    answer: "Answer | None",
    preview: "Preview",
    concluded: "Conclusions | None",
    as_json: bool,
    all_texts: bool,
) -> None:
    if as_json:
        content: dict[str, Any] = asdict(preview)
        if answer is not None:
            content = {"hits": [asdict(hit) for hit in answer.hits], **content, "failed": answer.failed}
            content["seconds"] = round(answer.seconds, 3)
        if concluded is not None:
            content["conclusions"] = {one.attacker: list(one.guesses) for one in concluded.attackers}
            content["log_size"] = concluded.log_size
        print(visible_json(json.dumps(content, ensure_ascii=False)), flush=True)
        return
    if answer is not None:
        rows = [[str(rank), hit.title, hit.snippet, hit.url or hit.docno] for rank, hit in enumerate(answer.hits, 1)]
        print_table("documents", ["", "title", "snippet", "where"], rows)
        if not rows:
            print("nothing was found")
        if answer.failed:
            say(f"warning: {answer.failed} of {len(preview.texts)} requests were not answered")
    _show_preview(preview, "what the engine saw" if answer is not None else "what would leave", all_texts)
    if concluded is not None:
        yours = "and yours" if concluded.added else "yours among them"
        print(f"\nwhat it could conclude, knowing {concluded.log_size:,} public queries, {yours}:")
        for one in concluded.attackers:
            print(f"  {one.attacker}:")
            for guess, hit in zip(one.guesses, one.hits, strict=True):
                print(f"    {visible(guess)}{'  <- your query' if hit else ''}")
    sys.stdout.flush()


def _show_preview(preview: "Preview", title: str, all_texts: bool) -> None:
    if preview.local:
        print(f"\n{title}: nothing; this query is answered from what was fetched before in this session")
    else:
        print(f"\n{title}: {len(preview.texts)} texts{', your query among them' if preview.sends_original else ''}")
        shown = preview.texts if all_texts else preview.texts[:_SHOWN]
        for text in shown:
            print(f"  {visible(text)}")
        if len(shown) < len(preview.texts):
            print(f"  ... and {len(preview.texts) - len(shown)} more (--all-texts)")
    print_wrapped(f"promised: {preview.guarantee}")
    print_wrapped(f"in all: {preview.composed}")
    for warning in preview.warnings:
        say(f"warning: {warning}")
