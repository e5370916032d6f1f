"""``quipukit serve``: the page and the HTTP service."""

from collections.abc import Callable
from pathlib import Path

import typer

from quipukit.cli.console import say


def serve(
    runs: list[Path] | None = typer.Argument(
        None, metavar="[RUN]...", help="Results to explore: folders that `quipukit evaluate -o` wrote."
    ),
    host: str = typer.Option("127.0.0.1", help="Address to listen on; any but this machine's own needs --token."),
    port: int = typer.Option(8765, min=0, max=65535, help="Port; 0 takes any that is free."),
    token: str | None = typer.Option(
        None,
        envvar="QUIPUKIT_TOKEN",
        show_envvar=False,
        help="Ask every visitor for this text; better in QUIPUKIT_TOKEN, where no process list shows it.",
    ),
    engine: list[str] | None = typer.Option(
        None, "--engine", help="Engine to search, as KIND+URL (docs/engines.md); several are offered. [wordnet]"
    ),
    ledger: str | None = typer.Option(
        None, help="The file that counts what searches release; 'none' counts in memory. [QUIPUKIT_LEDGER]"
    ),
    browser: bool = typer.Option(True, "--open/--no-open", help="Open the page in a browser."),
) -> None:
    """Serve a local page: try settings, explore results, search privately, and a game that explains the idea.

    Programs that speak SearXNG's JSON format can search at the same address (GET /search?q=...&format=json), browsers
    can add it as a search engine, and /api/openapi.json describes the rest. Nothing is logged. Needs the extra serve:
    pip install 'quipukit[serve]'.

    \b
    Examples:
      quipukit serve
      quipukit serve runs/a runs/b --no-open
      quipukit serve --engine searxng+https://host --port 0
      QUIPUKIT_TOKEN=... quipukit serve --host 0.0.0.0
    """
    from quipukit.web.access import Access
    from quipukit.web.server import require_packages
    from quipukit.web.server import serve as run

    require_packages()
    access = Access(host, token)
    folders = list(runs or ())
    engines = list(engine or ())
    _check_engines(engines)

    def make() -> tuple[object, Callable[[], None]]:
        from quipukit.web.app import create_app
        from quipukit.web.service import Service

        results = []
        if folders:
            from quipukit.web.results import OpenResult

            results = [OpenResult.load(folder) for folder in folders]
        service = Service(results, engines, access, ledger=ledger)
        return create_app(service), service.warm_up

    run(make, access, port, browser=browser, say=say)


def _check_engines(engines: list[str]) -> None:
    """Refuse an address that cannot be one before anything starts."""
    from quipukit.retrieval.load import is_address

    for engine in engines:
        if is_address(engine):
            from quipukit.retrieval.engines import read_spec

            read_spec(engine)
