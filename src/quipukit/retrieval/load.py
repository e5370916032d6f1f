"""Search systems and re-rankers by name.

A plugin adds its own through the entry-point groups ``quipukit.retrievers`` and ``quipukit.rerankers``: the entry's
name is the system's name, its value gives a `Retriever` or a `Scorer` when called with a collection.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

from quipukit.collections.base import Collection
from quipukit.encoders.base import Encoder
from quipukit.encoders.load import STATIC, load_encoder, static_vectors
from quipukit.encoders.store import PrivateStore
from quipukit.errors import InputError, ResourceError
from quipukit.plugins import Loader, fold, plugins
from quipukit.progress import Progress
from quipukit.registry import Registry
from quipukit.retrieval.base import Retriever, Scorer
from quipukit.retrieval.fusion import NO_RERANKER
from quipukit.retrieval.snippets import PREFIX, ShownDocuments, on_snippets, refuse_on_snippets

DEFAULT_MODEL = "minilm"
_DENSE = "dense"

# The encodings that a caller keeps: called with the encoder of a dense retriever or re-ranker.
StoreOf = Callable[[Encoder], PrivateStore]

RETRIEVERS = Registry(
    "search system",
    "quipukit.retrievers",
    {"bm25": "quipukit.retrieval.bm25:BM25", _DENSE: "quipukit.retrieval.dense:Dense"},
    hint="Write dense:MODEL for another model, and for an engine its address, such as anserini+http://host/INDEX.",
)
RERANKERS = "quipukit.rerankers"


def load_retriever(
    name: str | Retriever,
    collection: Collection | None = None,
    *,
    store_of: StoreOf | None = None,
    progress: Progress | None = None,
    shows: bool = False,
) -> Retriever:
    """Return a search system: ``bm25``, ``dense``, ``dense:MODEL``, an engine's address, or a plugin's name.

    Addresses name the kind of engine, as ``anserini+http://127.0.0.1:8081/INDEX`` (docs/engines.md has them all); an
    engine brings its own documents, so that it needs no collection. ``store_of`` gives the encodings that a dense
    system reads and adds to, in place of its own. ``progress`` receives that of an index that has to be made first.
    ``shows`` asks an engine for titles and snippets, too. A `Retriever` is returned as it is.
    """
    if isinstance(name, Retriever):
        return name
    if is_address(name):
        from quipukit.retrieval.http import HttpEngine

        return HttpEngine(name, shows=shows)
    kind, model = _kind_and_model(name)
    if collection is None:
        raise InputError(f"{name!r} searches a collection; name one, for instance wordnet.", argument="collection")
    if kind in RETRIEVERS.built_in:
        return _BUILT_IN[kind](collection, model, store_of, progress)
    retriever = RETRIEVERS.load(kind)(collection)
    if not isinstance(retriever, Retriever):
        raise ResourceError(
            f"the plugin {name!r} gives no Retriever; it must inherit quipukit.retrieval.base.Retriever."
        )
    if retriever.remote and not is_remote(name):
        raise InputError(
            f"{name} sends queries to other machines but does not declare it; set remote = True on the class or "
            "function that the plugin names."
        )
    return retriever


def load_scorer(
    name: str | Scorer, collection: Collection, *, store_of: StoreOf | None = None, progress: Progress | None = None
) -> Scorer:
    """Return the model that re-ranks on the user's side: ``bm25``, a plugin's name, or a dense encoder's (``minilm``).

    ``store_of`` gives the encodings that a dense re-ranker reads and adds to; ``progress`` receives that of an index
    that has to be made first. A `Scorer` is returned as it is.
    """
    if isinstance(name, Scorer):
        return name
    refuse_address(name)
    if name == NO_RERANKER:
        raise InputError(
            "'none' is no re-ranker: the lists are fused by rank instead, as quipukit.retrieval.fusion.fuse(run) does.",
            argument="reranker",
        )
    if on_snippets(name):
        return _on_snippets(name.removeprefix(PREFIX), collection, store_of, progress)
    if name == "bm25":
        from quipukit.retrieval.bm25 import BM25

        return BM25.of(collection, progress=progress)
    if name in reranker_plugins():
        scorer = reranker_plugins()[name]()(collection)
        if not isinstance(scorer, Scorer):
            raise ResourceError(f"the plugin {name!r} gives no Scorer; it must inherit quipukit.retrieval.base.Scorer.")
        return scorer
    from quipukit.retrieval.dense import DenseScorer

    encoder = load_encoder(model_of(name))
    return DenseScorer(collection, encoder, store=None if store_of is None else store_of(encoder))


def _on_snippets(name: str, collection: Collection, store_of: StoreOf | None, progress: Progress | None) -> Scorer:
    refuse_on_snippets(f"{PREFIX}{name}")
    shown = collection if isinstance(collection, ShownDocuments) else ShownDocuments(collection)
    return load_scorer(name, shown, store_of=store_of, progress=progress)


def is_address(name: str) -> bool:
    """Return whether a name is meant as the address of an engine; what may hold a password counts, right or wrong.

    >>> [is_address(name) for name in ("opensearch+http://host/news", "opensearch:bob:secret", "dense:me@host")]
    [True, True, True]
    >>> [is_address(name) for name in ("bm25", "dense:org/model", "Dense:org/model", "dense:static:default")]
    [False, False, False, False]
    """
    if "://" in name:
        return True
    # A model or word vectors: no name of these holds such characters, but that of a folder or file may.
    model = _dense_model(name)
    rest = name if model is None else model
    vectors = static_vectors(rest)
    rest = rest if vectors is None else vectors
    return ("+http" in rest or "@" in rest or ":" in rest) and not os.path.exists(rest)


def system_name(name: str) -> str:
    """Return the name of a search system as it is stored and shown: an address without login, written in one way."""
    if not is_address(name):
        kind, model = _kind_and_model(name)
        return f"{kind}:{model}" if model else kind
    from quipukit.retrieval.engines import read_spec

    return read_spec(name).identity


def model_of(name: str) -> str:
    """Return the encoder behind the name of a dense retriever or re-ranker.

    >>> model_of("dense"), model_of("dense:org/model"), model_of("org/model")
    ('minilm', 'org/model', 'org/model')
    """
    name = name.removeprefix(PREFIX)
    model = _dense_model(name)
    return (name if model is None else model) or DEFAULT_MODEL


def is_dense(name: str) -> bool:
    """Return whether a search system, by its name, compares vectors of an encoder."""
    return not is_address(name) and _kind_and_model(name)[0] == _DENSE


def is_remote(name: str) -> bool:
    """Return whether a search system sends queries over the network; a plugin says so by its attribute ``remote``."""
    if is_address(name):
        return True
    kind, _ = _kind_and_model(name)
    return kind not in RETRIEVERS.built_in and bool(getattr(RETRIEVERS.load(kind), "remote", False))


def plugin_system(name: str) -> Any:
    """Return what a plugin makes its search system with; say which systems there are where none has the name."""
    return RETRIEVERS.load(name)


def reranker_plugins() -> Mapping[str, Loader]:
    """Return the re-rankers of plugins by name, each as a function that loads what makes it."""
    return plugins(
        RERANKERS, tuple((fold(name), name) for name in ("bm25", _DENSE, DEFAULT_MODEL, STATIC, NO_RERANKER))
    )


def refuse_address(reranker: str) -> None:
    """Refuse an engine's address as a re-ranker: it would get the original queries."""
    if is_address(reranker.removeprefix(PREFIX)):
        raise InputError(
            "a re-ranker is a model on this machine, not an engine's address; name minilm or bm25.", argument="reranker"
        )


def _kind_and_model(name: str) -> tuple[str, str]:
    """Return the registered name of a search system, and the model that follows it after a colon."""
    kind, _, model = name.partition(":")
    return RETRIEVERS.canonical(kind), model


def _dense_model(name: str) -> str | None:
    """Return the model that a name of the dense search names, in any case; None where it is another name."""
    kind, _, model = name.partition(":")
    return model if fold(kind) == _DENSE else None


def _bm25(collection: Collection, _: str, __: StoreOf | None, progress: Progress | None) -> Retriever:
    from quipukit.retrieval.bm25 import BM25

    return BM25.of(collection, progress=progress)


def _dense(collection: Collection, model: str, store_of: StoreOf | None, _: Progress | None) -> Retriever:
    from quipukit.retrieval.dense import Dense

    encoder = load_encoder(model or DEFAULT_MODEL)
    if store_of is None:
        return Dense(collection, encoder)
    store = store_of(encoder)
    return Dense(collection, store=store.shared, queries=store)


_BUILT_IN: dict[str, Callable[[Collection, str, StoreOf | None, Progress | None], Retriever]] = {
    "bm25": _bm25,
    _DENSE: _dense,
}
