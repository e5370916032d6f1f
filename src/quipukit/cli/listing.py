"""``quipukit list``: what there is to choose from."""

from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import plain, print_json, print_table, say
from quipukit.cli.vectors import shape_of

if TYPE_CHECKING:
    from quipukit.vectors.store import Vectors


def list_all(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """List mechanisms with their parameters and guarantees, word vectors, encoders and collections.

    \b
    Examples:
      quipukit list
      quipukit list --json
    """
    from quipukit.registry import mechanism_names
    from quipukit.vectors.sources import load_vectors

    default = load_vectors()
    mechanisms = _described(mechanism_names(), default)
    vectors = [{"name": name, "about": about} for name, about in _vectors()]
    others = {"encoders": _encoders(), "retrievers": _retrievers(), "collections": _collections()}
    if as_json:
        print_json({"mechanisms": mechanisms, "vectors": vectors, **others})
        return
    print_table(
        "Mechanisms (guarantee at the default setting, for one variant; N variants multiply epsilon by N)",
        ["name", "parameter", "default", "what it does", "guarantee"],
        [
            [one["name"], one["parameter"], plain(one["default"]), one["summary"], one["guarantee"]]
            for one in mechanisms
        ],
        _send_the_query([one["name"] for one in mechanisms if one["sends_original"]]),
    )
    print_table(
        "Options, as in CusText(k=20)@10",
        ["mechanism", "options with defaults"],
        [[m["name"], m["options"]] for m in mechanisms],
    )
    for title, entries in {"word vectors": vectors, **others}.items():
        print_table(title.capitalize(), ["name", "what it is"], [[entry["name"], entry["about"]] for entry in entries])


def _send_the_query(names: list[str]) -> str:
    *others, last = names
    subject = f"{', '.join(others)} and {last} send" if others else f"{last} sends"
    return f"{subject} the query itself by design, alone or among others (sends_original)."


def _retrievers() -> list[dict[str, str]]:
    from quipukit.retrieval.engines import ENGINES
    from quipukit.retrieval.load import RETRIEVERS, reranker_plugins

    first, *others = ENGINES.names
    plugins = [name for name in RETRIEVERS.names if name not in RETRIEVERS.built_in]
    return [
        {"name": "bm25", "about": "BM25 over the collection, k1 = 0.9, b = 0.4"},
        {"name": "dense, dense:MODEL", "about": "nearest documents by an encoder"},
        {"name": f"{first}+http://HOST/INDEX", "about": f"an engine over the network; also {', '.join(others)}"},
        *({"name": name, "about": "from a plugin"} for name in plugins),
        *({"name": name, "about": "a re-ranker from a plugin"} for name in sorted(reranker_plugins())),
    ]


def _encoders() -> list[dict[str, str]]:
    from quipukit.encoders.load import encoder_names

    about = {
        "minilm": "all-MiniLM-L6-v2, 384 dimensions; its weights are installed with quipukit",
        "static": "weighted sums of the default word vectors (SIF); no model, and much faster",
    }
    named = [{"name": name, "about": about.get(name, "from a plugin")} for name in encoder_names()]
    return [
        *named,
        {"name": "static:VECTORS", "about": "the same with other word vectors: a name from above, or a text file"},
        {"name": "NAME or FOLDER", "about": "any sentence-transformers or Hugging Face encoder on this machine"},
    ]


def _collections() -> list[dict[str, str]]:
    from quipukit.collections.load import collection_names

    about = {"wordnet": "every WordNet synset, 157 private queries, derived judgments; built in"}
    named = [{"name": name, "about": about.get(name, "from a plugin")} for name in collection_names()]
    return [
        *named,
        {"name": "irds:ID", "about": "any collection of ir_datasets (extra `datasets`)"},
        {"name": "FOLDER", "about": "docs.tsv[.gz] or docs.jsonl[.gz], topics.tsv, qrels.txt"},
    ]


def _described(names: list[str], vectors: "Vectors") -> list[dict[str, Any]]:
    from quipukit.errors import ResourceError

    rows = []
    for name in names:
        try:
            rows.append(_describe(name, vectors))
        except ResourceError as fault:  # a plugin that cannot be loaded must not hide the others
            say(f"warning: {fault}")
    return rows


def _describe(name: str, vectors: "Vectors") -> dict[str, Any]:
    from quipukit.auditing.kept import claim_of
    from quipukit.errors import SpecError
    from quipukit.mechanisms.base import default_value, option_fields
    from quipukit.obfuscation import mechanism
    from quipukit.registry import mechanism_class
    from quipukit.specs import Spec

    cls = mechanism_class(name)
    value, guarantee = None, ""
    try:
        value = default_value(cls) if cls.parameter else None
        guarantee = claim_of(mechanism(Spec(cls.name, (), value), vectors))
    except SpecError as fault:  # of a plugin: one that cannot be described must not hide the others
        guarantee = f"not known: {fault}"
    return {
        "name": cls.name,
        "parameter": cls.parameter,
        "default": value,
        "grid": list(cls.grid),
        "strategy": cls.strategy,
        "summary": cls.summary,
        "guarantee": guarantee,
        "sends_original": cls.sends_original,
        "options": ", ".join(f"{field.name}={field.default!r}" for field in option_fields(cls)),
        "reference": cls.reference,
    }


def _vectors() -> list[tuple[str, str]]:
    from quipukit.vectors.sources import PACKS, installed_names

    own = [(name, f"{shape_of(meta)}, installed") for name, meta in installed_names().items()]
    return [*((name, pack.ABOUT) for name, pack in PACKS.items()), *own]
