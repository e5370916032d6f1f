"""Search systems and scorers by name."""

import functools
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
    kind, _, model = name.partition(":")
    if "+http" in kind:
        from quipukit.retrieval.http import HttpEngine

        return HttpEngine(name)
    if collection is None:
        raise InputError(f"{name!r} searches a collection; name one, for instance wordnet.")
    if kind == "bm25" and not model:
        from quipukit.retrieval.bm25 import BM25

        return BM25.of(collection)
    if kind == "dense":
        from quipukit.retrieval.dense import Dense

        return Dense(collection, model or "minilm")
    plugin: Retriever = plugin_system(name)(collection)
    return plugin


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
    if name == "bm25":
        from quipukit.retrieval.bm25 import BM25

        return BM25.of(collection)
    from quipukit.retrieval.dense import DenseScorer

    return DenseScorer(collection, name.removeprefix("dense:") if name != "dense" else "minilm")


@functools.cache
def _plugins() -> dict:  # type: ignore[type-arg]
    return {entry.name: entry for entry in entry_points(group=GROUP)}
