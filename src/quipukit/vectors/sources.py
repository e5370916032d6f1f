"""Where word vectors come from: the default pack, text files, and what has been installed before."""

import json
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from quipukit.errors import FileError, VectorsError
from quipukit.home import cache_home, file_stamp, locked, sha256
from quipukit.vectors import default_pack, wink
from quipukit.vectors.store import Vectors, load, save, stored_files
from quipukit.vectors.textfile import read_text_vectors

PACKS: dict[str, Any] = {default_pack.NAME: default_pack, wink.NAME: wink}
_ALIASES = {"default": default_pack.NAME, "glove-6b-100d": wink.NAME}


def load_vectors(source: str | os.PathLike[str] | None = None) -> Vectors:
    """Load word vectors: the default pack, a pack by name, or a text file (GloVe, word2vec, fastText).

    What was loaded once is kept as a memory-mapped folder under its source's fingerprint and checked byte by byte
    at every load; a damaged copy is built again.
    """
    name = str(source or default_pack.NAME)
    name = _ALIASES.get(name.lower(), name)
    if name in PACKS:
        pack = PACKS[name]
        return _stored(vectors_home() / name, pack.fingerprint, pack.build, pack.finish)
    path = Path(name).expanduser()
    if path.is_dir() and (path / "meta.json").is_file():
        return load(path)
    if not path.is_file():
        known = ", ".join(PACKS)
        raise FileError(f"there are no vectors {name!r}: neither a file nor one of {known}.")
    fingerprint = file_fingerprint(path)
    return _stored(
        vectors_home() / f"{path.stem}-{fingerprint[:12]}", lambda: fingerprint, lambda: read_text_vectors(path)
    )


def vectors_home() -> Path:
    """Return the folder in which vectors are kept."""
    return cache_home() / "vectors"


def installed() -> Iterator[tuple[Path, dict[str, Any]]]:
    """Iterate over the vectors that are kept on disk, with what is known about them."""
    for folder in sorted(vectors_home().glob("*")):
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
            vectors = _load_once(folder, source)  # somebody else may have built it meanwhile
            if vectors is None:
                built = build()
                built.meta["source"] = source
                save(built, folder)
                vectors = load(folder)
    return finish(vectors)


# Vectors that are in use are not loaded a second time: mechanisms share work only if they share the object.
_in_use: "weakref.WeakValueDictionary[tuple[Any, ...], Vectors]" = weakref.WeakValueDictionary()


def _load_once(folder: Path, source: str) -> Vectors | None:
    """Return stored vectors of a source; nothing where they are missing, damaged, or of something else."""
    try:
        # Any change on disk changes the state, and the files are read and checked again.
        state = tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in stored_files(folder))
        vectors = _in_use.get((folder, state))
        if vectors is None:
            vectors = _in_use[folder, state] = load(folder)
    except (VectorsError, OSError):
        return None
    return vectors if vectors.meta.get("source") == source else None
