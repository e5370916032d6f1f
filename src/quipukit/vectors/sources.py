"""Where word vectors come from: the default pack, text files, and what has been installed before."""

import functools
import hashlib
import json
import os
import re
import shutil
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quipukit.errors import FileError, InputError, VectorsError
from quipukit.executors.shared import loaded_by
from quipukit.storage import cache_home, file_stamp, locked, sha256
from quipukit.vectors import default_pack, wink
from quipukit.vectors.store import Vectors, load, save, stored_files
from quipukit.vectors.textfile import read_text_vectors
from quipukit.vectors.wordfilter import WordFilter, word_filter

PACKS: dict[str, Any] = {default_pack.NAME: default_pack, wink.NAME: wink}
_ALIASES = {"default": default_pack.NAME, "glove-6b-100d": wink.NAME}
_NAME = re.compile(r"\w[\w.+-]{0,99}")
_SUFFIXES = (".gz", ".txt", ".vec")


def load_vectors(
    source: str | os.PathLike[str] | None = None, *, vocabulary_filter: str | os.PathLike[str] | None = None
) -> Vectors:
    """Load word vectors: the default pack, a pack or installed vectors by name, or a text file.

    A text file is as GloVe, word2vec and fastText write it. A name comes before a file of that name in the current
    folder, which is then written with its folder, ``"./NAME"``, or given as a Path. What was loaded once is kept as a
    memory-mapped folder under its source's fingerprint and checked byte by byte at every load; a damaged copy is built
    again.

    ``vocabulary_filter`` removes words from the vocabulary: ``"offensive"`` for slurs and obscenities (which the
    default pack has none of), or a file with one word per line. Such a list must be public and must not depend on the
    queries: then every guarantee holds over the words that are left.
    """
    wanted = source or default_pack.NAME
    vectors = _named(wanted) if isinstance(wanted, str) else None
    if vectors is None:
        wanted = Path(wanted).expanduser()
        vectors = _at_path(wanted)
        wanted = wanted.absolute()
    loaded_by(vectors, functools.partial(load_vectors, wanted))
    return vectors if vocabulary_filter is None else _filtered(vectors, word_filter(vocabulary_filter))


def _named(name: str) -> Vectors | None:
    name = _ALIASES.get(name.lower(), name)
    if name in PACKS:
        pack = PACKS[name]
        return _stored(vectors_home() / name, pack.fingerprint, pack.build, pack.finish)
    if _NAME.fullmatch(name) and (_named_home() / name).is_dir():
        return _load_shared(_named_home() / name)
    return None


def _at_path(path: Path) -> Vectors:
    if path.is_dir() and (path / "meta.json").is_file():
        return load(path)
    if not path.is_file():
        known = ", ".join([*PACKS, *installed_names()])
        raise FileError(f"there are no vectors {str(path)!r}: neither a file nor one of {known}.")
    fingerprint = file_fingerprint(path)
    folder = vectors_home() / f"{path.stem}-{fingerprint[:12]}"
    return _stored(folder, lambda: fingerprint, lambda: read_text_vectors(path))


def _filtered(vectors: Vectors, words: WordFilter) -> Vectors:
    """Return vectors without the words of a filter, kept on disk like any others: groups are computed once."""
    source = f"{vectors.fingerprint} without {words.fingerprint}"
    folder = vectors_home() / f"filtered-{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    kept = _load_once(folder, source)
    if kept is None:
        left = vectors.without(words)
        if left is vectors:
            return vectors
        kept = _stored(folder, lambda: source, lambda: left)
    kept.compose = vectors.compose
    origin = vectors.origin
    return kept if origin is None else loaded_by(kept, functools.partial(_load_filtered, origin, words))


def _load_filtered(origin: Callable[[], Vectors], words: WordFilter) -> Vectors:
    return _filtered(origin(), words)


# --- names ----------------------------------------------------------------------------------------------------------


def install(path: str | os.PathLike[str], name: str | None = None, *, replace: bool = False) -> Vectors:
    """Read a text file of vectors and keep it under a name, by which it can be loaded from then on.

    The name is the file's own without its ending. One that is taken by other vectors is refused, unless ``replace``.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise FileError(f"there is no file {str(path)!r} to install; name a text file of vectors.")
    name = _checked_name(name if name is not None else _usual_name(file))
    folder = _named_home() / name
    fingerprint = file_fingerprint(file)
    kept = _load_once(folder, fingerprint)
    if kept is not None:
        return kept
    with locked(folder):
        if folder.exists() and not replace:
            raise InputError(f"there are other vectors called {name!r}; give another name, or ask to replace them.")
        vectors = read_text_vectors(file)
        vectors.name = name
        vectors.meta["source"] = fingerprint
        save(vectors, folder)
    return _load_shared(folder)


def remove(name: str) -> None:
    """Delete vectors that are kept on disk: installed ones, or a copy of a pack or file that can be made again."""
    for folder, _ in installed():
        if folder.name == name:
            shutil.rmtree(folder)
            return
    raise InputError(f"there are no vectors {name!r} on disk; `quipukit vectors` lists them.")


def _usual_name(file: Path) -> str:
    name = file.name
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"vectors cannot be called {name!r}; use letters, digits, '.', '_', '+' and '-', a letter or digit first."
        )
    if name.lower() in {*PACKS, *_ALIASES}:
        raise InputError(f"{name!r} is the name of a pack; choose another name.")
    return name


# --- what is on disk ------------------------------------------------------------------------------------------------


def vectors_home() -> Path:
    """Return the folder in which vectors are kept."""
    return cache_home() / "vectors"


def _named_home() -> Path:
    return vectors_home() / "named"


def installed() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Iterate over the vectors that are kept on disk, with what is known about them: installed ones first."""
    yield from _folders(_named_home())
    yield from _folders(vectors_home())


def installed_names() -> dict[str, dict[str, Any]]:
    """Return the names under which vectors were installed, with what is known about them."""
    return {folder.name: meta for folder, meta in _folders(_named_home())}


def other_names() -> list[str]:
    """Return the names of the vectors on disk beside the default pack: packs that were loaded, and installed ones.

    Copies of files have no name of their own.
    """
    packs = [folder.name for folder, _ in _folders(vectors_home()) if folder.name in PACKS]
    return [name for name in (*packs, *installed_names()) if name != default_pack.NAME]


def _folders(home: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for folder in sorted(home.glob("*")):
        meta = folder / "meta.json"
        if not folder.name.startswith(".") and meta.is_file():
            yield folder, _read_meta(meta) or {"name": folder.name, "damaged": True}


def _read_meta(path: Path) -> dict[str, Any]:
    """Return what a pack says about itself; nothing where that is damaged."""
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return meta if isinstance(meta, dict) else {}


def file_fingerprint(path: Path) -> str:
    """Return the hash of a file's content; remembered as long as the file is not written to."""
    stamp = file_stamp(path)
    for _, meta in installed():
        if meta.get("stamp") == stamp and "source" in meta:
            return str(meta["source"])
    return sha256(path)


def _stored(
    folder: Path,
    fingerprint: Callable[[], str],
    build: Callable[[], Vectors],
    finish: Callable[[Vectors], Vectors] = lambda vectors: vectors,
) -> Vectors:
    source = fingerprint()
    vectors = _load_once(folder, source)
    if vectors is None:
        with locked(folder):
            vectors = _load_once(folder, source)  # another process may have built it meanwhile
            if vectors is None:
                built = build()
                built.meta["source"] = source
                save(built, folder)
                vectors = _load_shared(folder)
    return finish(vectors)


# Vectors that are in use are not loaded a second time: mechanisms share work only if they share the object.
_in_use: "weakref.WeakValueDictionary[tuple[Any, ...], Vectors]" = weakref.WeakValueDictionary()


def _load_once(folder: Path, source: str) -> Vectors | None:
    """Return stored vectors of a source; nothing where they are missing, damaged, or of something else."""
    try:
        vectors = _load_shared(folder)
    except (VectorsError, OSError):
        return None
    return vectors if vectors.meta.get("source") == source else None


def _load_shared(folder: Path) -> Vectors:
    """Return stored vectors: the same object as long as it is in use and nothing on disk changes."""
    state = tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in stored_files(folder))
    vectors = _in_use.get((folder, state))
    if vectors is None:
        vectors = _in_use[folder, state] = load(folder)
    return vectors
