"""From a collection's name to the collection.

A plugin adds its own through the entry-point group ``quipukit.collections``: the entry's name is the collection's
name, its value a callable without arguments that returns a `Collection`.
"""

import functools
import os
from collections.abc import Mapping
from pathlib import Path

from quipukit.collections.base import Collection
from quipukit.errors import InputError, ResourceError
from quipukit.executors.shared import loaded_by
from quipukit.plugins import Loader, fold, plugins

GROUP = "quipukit.collections"
DEFAULT = "wordnet"


def collection_names() -> list[str]:
    """Return the collections that have a name of their own: the built-in one, then those of plugins."""
    return [DEFAULT, *sorted(_plugins())]


def load_collection(name: str | os.PathLike[str] | Collection = DEFAULT, *, documents: bool = True) -> Collection:
    """Return a collection: ``wordnet`` (built in), ``irds:ID`` of ir_datasets, a plugin's name, or a folder.

    A folder holds docs.tsv or docs.jsonl, topics.tsv and qrels.txt, each plain or gzipped. Where a folder is
    called like a collection, write ``./wordnet`` for the folder. A `Collection` is returned as it is. Without
    ``documents`` a folder may lack them: for an engine that has its own.

    >>> load_collection("wordnet").name
    'wordnet'
    """
    if isinstance(name, Collection):
        return name
    collection = _named(name) if isinstance(name, str) else None
    if collection is None:
        return _from_folder(name, documents)
    return loaded_by(collection, functools.partial(load_collection, name))


def _named(name: str) -> Collection | None:
    if name.casefold() == DEFAULT:
        from quipukit.collections.wordnet_glosses import WordNetGlosses

        return WordNetGlosses()
    if name.casefold().startswith("irds:"):
        from quipukit.collections.irds import IrDataset

        return IrDataset(name[len("irds:") :])
    return _from_plugin(name, _plugins()[name]) if name in _plugins() else None


def _from_folder(name: str | os.PathLike[str], documents: bool) -> Collection:
    from quipukit.collections.files import Folder

    path = Path(name).expanduser()
    if str(name) and path.is_dir():  # the empty path would be the current folder
        again = functools.partial(load_collection, path.absolute(), documents=documents)
        return loaded_by(Folder(path, documents=documents), again)
    if path.is_file():
        raise InputError(f"{path} is a file; name the folder that holds docs.tsv, topics.tsv and qrels.txt.")
    known = ", ".join(collection_names())
    raise InputError(f"there is no collection {str(name)!r}; name a folder, 'irds:ID', or one of: {known}.")


def _from_plugin(name: str, load: Loader) -> Collection:
    try:
        collection = load()()
    except ImportError as fault:
        raise ResourceError(f"the plugin of collection {name!r} cannot be loaded ({fault}).") from None
    if not isinstance(collection, Collection):
        raise ResourceError(
            f"the plugin of collection {name!r} returned no Collection; it must inherit "
            "quipukit.collections.base.Collection."
        )
    return collection


def _plugins() -> Mapping[str, Loader]:
    return plugins(GROUP, ((fold(DEFAULT), DEFAULT),))
