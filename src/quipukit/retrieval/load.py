"""Search systems and scorers by name."""

import functools
import os
from importlib.metadata import entry_points
from typing import Any

from quipukit.collections.base import Collection
from quipukit.errors import InputError
from quipukit.retrieval.base import Retriever, Scorer

GROUP = "quipukit.retrievers"


def load_retriever(name: str | Retriever, collection: Collection | None = None) -> Retriever:
    """Return a search system: ``bm25``, ``dense``, ``dense:MODEL``, an engine's address, or a plugin's name.

    Addresses name the kind of engine, as ``anserini+http://127.0.0.1:8081/INDEX`` (docs/engines.md has them all); an
    engine brings its own documents, so that it needs no collection.
    """
    if isinstance(name, Retriever):
        return name
    if is_address(name):
        from quipukit.retrieval.http import HttpEngine

        return HttpEngine(name)
    kind, _, model = name.partition(":")
    if collection is None:
        raise InputError(f"{name!r} searches a collection; name one, for instance wordnet.")
    if kind == "bm25" and not model:
        from quipukit.retrieval.bm25 import BM25

        return BM25.of(collection)
    if kind == "dense":
        from quipukit.retrieval.dense import Dense

        return Dense(collection, model or "minilm")
    plugin: Retriever = plugin_system(name)(collection)
    if plugin.remote and not is_remote(name):
        raise InputError(
            f"{name} sends queries to other machines, and nothing says so before it is made; set remote = True on what "
            "the plugin is made with."
        )
    return plugin


def is_address(name: str) -> bool:
    """Tell whether a name is meant as the address of an engine; what may hold a password counts, right or wrong.

    >>> [is_address(name) for name in ("opensearch+http://host/news", "opensearch:bob:secret", "dense:me@host")]
    [True, True, True]
    >>> [is_address(name) for name in ("bm25", "dense:org/model")]
    [False, False]
    """
    if "://" in name:
        return True
    rest = name.removeprefix("dense:")  # a model: no name of one holds these characters, but that of a folder may
    return ("+http" in rest or "@" in rest or ":" in rest) and not os.path.exists(rest)


def system_name(name: str) -> str:
    """Return the name of a search system as it is stored and shown: an address without login, written in one way."""
    if not is_address(name):
        return name
    from quipukit.retrieval.engines import read_spec

    return read_spec(name).identity


def is_remote(name: str) -> bool:
    """Tell whether a search system sends queries over the wire; a plugin says so by its attribute ``remote``."""
    if is_address(name):
        return True
    return name in _plugins() and bool(getattr(plugin_system(name), "remote", False))


def plugin_system(name: str) -> Any:
    """Return what a plugin makes its search system with; say which systems there are where none has the name."""
    if name in _plugins():
        return _plugins()[name].load()
    known = ", ".join(["bm25", "dense", "dense:MODEL", *_plugins()])
    raise InputError(
        f"there is no search system {name!r}; use {known}, or an address such as anserini+http://host/INDEX."
    )


def load_scorer(name: str | Scorer, collection: Collection) -> Scorer:
    """Return the model that re-ranks on the user's side: ``bm25``, or a dense encoder by name (``minilm``)."""
    if isinstance(name, Scorer):
        return name
    refuse_address(name)
    if name == "bm25":
        from quipukit.retrieval.bm25 import BM25

        return BM25.of(collection)
    from quipukit.retrieval.dense import DenseScorer

    return DenseScorer(collection, name.removeprefix("dense:") if name != "dense" else "minilm")


def refuse_address(reranker: str) -> None:
    """Refuse an engine's address as a re-ranker: it would get the original queries."""
    if is_address(reranker):
        raise InputError("a re-ranker is a model on this machine, not an engine's address; name minilm or bm25.")


@functools.cache
def _plugins() -> dict:  # type: ignore[type-arg]
    return {entry.name: entry for entry in entry_points(group=GROUP)}
