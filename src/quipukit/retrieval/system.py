"""A search system as a value: a retriever and the user's own re-ranker, parsed once from names or objects."""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quipukit.collections.base import Collection
from quipukit.encoders.load import load_encoder
from quipukit.errors import InputError
from quipukit.fingerprints import fingerprint_of
from quipukit.progress import Progress
from quipukit.retrieval.base import Retriever, Scorer, Shown
from quipukit.retrieval.credentials import check_one_host
from quipukit.retrieval.fusion import NO_RERANKER
from quipukit.retrieval.load import (
    RETRIEVERS,
    StoreOf,
    is_address,
    is_dense,
    is_remote,
    load_retriever,
    load_scorer,
    model_of,
    refuse_address,
    reranker_plugins,
    system_name,
)
from quipukit.retrieval.saved import saved_shown
from quipukit.retrieval.snippets import PREFIX, ShownDocuments, on_snippets, refuse_on_snippets, reranker_on
from quipukit.source_hash import object_hash


@dataclass(frozen=True)
class SystemSpec:
    """A retriever and a re-ranker, each by name or as an object; nothing in it is secret.

    An engine's address holds no login and is written in one way; a re-ranker is never an address, because it would get
    the original queries. ``none`` in its place leaves documents in the order of their fused ranks.

    >>> SystemSpec("bm25", "minilm").name
    'bm25 + minilm'
    >>> SystemSpec("solr+http://host/solr/news").remote, SystemSpec("dense").remote
    (True, False)
    """

    retriever: str | Retriever = "bm25"
    reranker: str | Scorer = "minilm"

    def __post_init__(self) -> None:
        for role, part, kind in (("retriever", self.retriever, Retriever), ("reranker", self.reranker, Scorer)):
            if isinstance(part, str):
                continue
            if not isinstance(part, kind):
                raise InputError(
                    f"a {role} is a name or a {kind.__name__} (found {type(part).__name__}); inherit "
                    f"quipukit.retrieval.base.{kind.__name__}.",
                    argument=role,
                )
            name = getattr(part, "name", None)
            if not isinstance(name, str) or not name:
                raise InputError(
                    f"a {role} needs a name to appear in results; give {type(part).__name__} an attribute 'name'.",
                    argument=role,
                )
        if isinstance(self.retriever, str):
            object.__setattr__(self, "retriever", system_name(self.retriever))
        if isinstance(self.reranker, str):
            refuse_address(self.reranker)
            refuse_on_snippets(self.reranker)

    def __repr__(self) -> str:
        return f"SystemSpec({self.retriever_name!r}, {self.reranker_name!r})"

    @property
    def retriever_name(self) -> str:
        """Return what the retriever is called: its name, or its address."""
        return self.retriever if isinstance(self.retriever, str) else self.retriever.name

    @property
    def reranker_name(self) -> str:
        """Return what the re-ranker is called."""
        return self.reranker if isinstance(self.reranker, str) else self.reranker.name

    @property
    def names(self) -> tuple[str, str]:
        """Return both names: where the spec is portable, it can be made from them again."""
        return self.retriever_name, self.reranker_name

    @property
    def name(self) -> str:
        """Return what the system is called in a result."""
        return f"{_last_part(self.retriever_name)} + {self.reranker_name}"

    @property
    def portable(self) -> bool:
        """Return whether another process can make the system from its names."""
        return isinstance(self.retriever, str) and isinstance(self.reranker, str)

    @functools.cached_property
    def remote(self) -> bool:
        """Return whether queries leave this machine."""
        return is_remote(self.retriever) if isinstance(self.retriever, str) else self.retriever.remote

    @functools.cached_property
    def retriever_fingerprint(self) -> str:
        """Return the fingerprint of the retriever's model, plugin code or object; empty for BM25 and for engines."""
        if not isinstance(self.retriever, str):
            return fingerprint_of(self.retriever)
        if is_address(self.retriever) or self.retriever == "bm25":
            return ""
        if is_dense(self.retriever):
            return load_encoder(model_of(self.retriever)).fingerprint
        return object_hash(RETRIEVERS.load(self.retriever))

    @functools.cached_property
    def reranker_fingerprint(self) -> str:
        """Return the fingerprint of the re-ranker's model, plugin code or object; empty for BM25 and for none."""
        if not isinstance(self.reranker, str):
            return fingerprint_of(self.reranker)
        if self.reranker in ("bm25", NO_RERANKER):
            return ""
        plugin = self.reranker.removeprefix(PREFIX)
        if plugin in reranker_plugins():
            return object_hash(reranker_plugins()[plugin]())
        return load_encoder(model_of(self.reranker)).fingerprint

    @property
    def fingerprint(self) -> str:
        """Return one hash over the names and what is behind them."""
        parts = [*self.names, self.retriever_fingerprint, self.reranker_fingerprint]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def check(self) -> None:
        """Raise where a model is missing or the login of an engine is wrong: before hours of work, not after."""
        if isinstance(self.retriever, str) and is_address(self.retriever):
            load_retriever(self.retriever)
        _ = self.retriever_fingerprint, self.reranker_fingerprint

    def load_retriever(
        self,
        collection: Collection,
        *,
        store_of: StoreOf | None = None,
        answers: Path | None = None,
        progress: Progress | None = None,
    ) -> Retriever:
        """Return the retriever over a collection.

        ``store_of`` gives the encodings that a dense retriever reads and adds to. ``answers`` is a folder: what a
        remote retriever answers is kept there while it arrives, if the retriever has an identity, so that an
        interrupted run asks only for the rest. ``progress`` receives that of an index that has to be made first.
        """
        retriever = load_retriever(
            self.retriever, collection, store_of=store_of, progress=progress, shows=self.on_snippets
        )
        if answers is None or not (retriever.remote and retriever.identity):
            return retriever
        from quipukit.retrieval.saved import Saved

        return Saved(retriever, answers)

    def load_scorer(
        self,
        collection: Collection,
        *,
        store_of: StoreOf | None = None,
        answers: Path | None = None,
        progress: Progress | None = None,
    ) -> Scorer:
        """Return the re-ranker over a collection; the arguments are those of `load_retriever`.

        One that reads what an engine shows takes it from ``answers``, where it was kept; without, it reads what would
        be shown of the collection's own documents.
        """
        if self.remote and self.on_snippets and answers is not None:
            collection = shown_documents(self.retriever_name, saved_shown(answers))
        return load_scorer(self.reranker, collection, store_of=store_of, progress=progress)

    @property
    def reranks(self) -> bool:
        """Return whether there is a re-ranker; without one the lists are fused by rank."""
        return self.reranker != NO_RERANKER

    @property
    def needs_documents(self) -> bool:
        """Return whether the documents have to be on this machine."""
        return not self.remote or (self.reranks and not self.on_snippets)

    @property
    def on_snippets(self) -> bool:
        """Return whether the re-ranker reads titles and snippets, and not the documents themselves."""
        return isinstance(self.reranker, str) and on_snippets(self.reranker)


def parse_systems(given: Any) -> tuple[SystemSpec, ...]:
    """Return search systems from what a user gives: a SystemSpec, a (retriever, reranker) pair, or several of them.

    >>> parse_systems([("bm25", "minilm"), ["dense", "bm25"]])
    (SystemSpec('bm25', 'minilm'), SystemSpec('dense', 'bm25'))
    """
    several = [given] if isinstance(given, SystemSpec) or not isinstance(given, Iterable) else list(given)
    if isinstance(given, str) or not all(map(_is_system, several)):
        raise InputError(
            "systems are pairs of a retriever and a re-ranker, each a name or an object; write [('bm25', 'minilm')], "
            "and for an engine its address.",
            argument="systems",
        )
    return tuple(one if isinstance(one, SystemSpec) else SystemSpec(*one) for one in several)


def combine(
    retrievers: "str | Retriever | Iterable[str | Retriever]",
    rerankers: "str | Scorer | Iterable[str | Scorer]",
    rerank_on: str = "text",
) -> tuple[SystemSpec, ...]:
    """Return systems from retrievers and re-rankers: one re-ranker for all retrievers, or one for each.

    ``rerank_on`` says what re-rankers read: the ``text`` of documents, or the ``snippet`` that an engine shows.

    >>> combine(["bm25", "dense"], "minilm")
    (SystemSpec('bm25', 'minilm'), SystemSpec('dense', 'minilm'))
    """
    first, second = _several(retrievers), _several(rerankers)
    if len(second) not in (1, len(first)):
        raise InputError(
            f"{len(second)} re-rankers for {len(first)} retrievers; name one for all of them, or one each.",
            argument=("reranker", "retriever"),
        )
    if rerank_on != "text" and not all(isinstance(one, str) for one in second):
        raise InputError(
            "a re-ranker that is an object reads what it was made with; leave out rerank_on.", argument="rerank_on"
        )
    named = [reranker_on(one, rerank_on) if isinstance(one, str) else one for one in second]
    return tuple(map(SystemSpec, first, named * len(first) if len(named) == 1 else named))


def check_systems(systems: Iterable[SystemSpec]) -> None:
    """Check every system before work begins; the one login of the environment goes to one host alone."""
    systems = list(systems)
    addresses = [spec.retriever for spec in systems if isinstance(spec.retriever, str) and is_address(spec.retriever)]
    if addresses:
        from quipukit.retrieval.engines import read_spec

        check_one_host(read_spec(address).address for address in addresses)
    for spec in systems:
        spec.check()


def shown_documents(engine: str, shown: Mapping[str, Shown]) -> ShownDocuments:
    """Return what an engine has shown as documents to re-rank; say what to do where it has shown nothing."""
    if not shown:
        raise InputError(
            f"{engine} shows neither titles nor snippets, so that nothing can be re-ranked on them; name the fields "
            "that it shows (docs/engines.md), or leave the re-ranker out (none).",
            argument="rerank_on",
        )
    return ShownDocuments(None, shown)


def _is_system(one: Any) -> bool:
    return isinstance(one, SystemSpec) or (isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2)


def _several(given: Any) -> list[Any]:
    return [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)


def _last_part(name: str) -> str:
    """Return a name, and of a path its last part: the rest describes a machine."""
    return Path(name).name if "/" in name and ":" not in name else name
