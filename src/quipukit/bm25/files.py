"""A folder of arrays with checksums: complete, or recognized as something else.

Every array is a file, `NAME.npy`; `meta.json` has their sizes and SHA-256, a note, and a checksum over itself. Opening
compares all sizes. What is small is hashed each time. What is large is hashed only where a file is not the one that was
hashed last, by its size, its times and its number on the disk: writing to a file, copying or restoring it changes
these. They are kept in `checked.json`; without it everything is hashed.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.storage import atomic_write, file_stamp, make_folder

Array = NDArray[Any]

# Below this many bytes a folder is hashed whenever it is opened, which takes some hundredths of a second.
SMALL = 64_000_000

_META, _CHECKED = "meta.json", "checked.json"


class ArrayFile:
    """A `.npy` file of known length that is written piece by piece."""

    def __init__(self, path: Path, dtype: Any, length: int) -> None:
        self._file = path.open("wb")
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (length,)}
        np.lib.format.write_array_header_1_0(self._file, header)
        self.position = self._file.tell()  # of the first element

    def __enter__(self) -> "ArrayFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, part: Array) -> None:
        """Write the next part."""
        self._file.write(np.ascontiguousarray(part).data)


def write_folder(folder: Path, arrays: Mapping[str, Array], note: Any, small: int = SMALL) -> None:
    """Complete a folder: write arrays into it, beside those that are there already, then the sums of all."""
    make_folder(folder)
    for name, array in arrays.items():
        with ArrayFile(folder / f"{name}.npy", array.dtype, len(array)) as file:
            file.append(array)
    files = sorted(folder.glob("*.npy"))
    large = _size(files) >= small
    if large:
        for path in files:  # hashed once only: so a power cut must not take back what was hashed
            _sync(path)
    sums = {path.name: [path.stat().st_size, digest(path)] for path in files}
    content = json.dumps([sums, note])
    with atomic_write(folder / _META) as draft:
        draft.write_text(json.dumps([hashlib.sha256(content.encode()).hexdigest(), content]), encoding="utf-8")
    for path in files:
        path.chmod(0o600)
    if large:
        _remember(folder, files)


def read_note(folder: Path) -> Any:
    """Return the note of a folder, without a look at its arrays; None where there is none."""
    return (_meta(folder) or ({}, None))[1]


def is_written(folder: Path) -> bool:
    """Return whether a folder was completed; its arrays are not looked at."""
    return _meta(folder) is not None


def open_folder(folder: Path, small: int = SMALL) -> dict[str, Array] | None:
    """Return the arrays of a folder, mapped; None where it is not there, or not what was written."""
    meta = _meta(folder)
    if meta is None or not _sound(folder, meta[0], small):
        return None
    try:
        return {name.removesuffix(".npy"): mapped(folder / name) for name in meta[0]}
    except (OSError, ValueError):
        return None


def intact(folder: Path) -> bool:
    """Return whether every byte of a folder is what was written, however often that was seen before."""
    meta = _meta(folder)
    return meta is not None and _hashed(folder, meta[0])


def mapped(path: Path) -> Array:
    """Map an array; an empty one has nothing to be mapped."""
    # A plain view: the class that maps the file makes every slice slow.
    return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > 128 else None))


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces: mapped, all of it would count as this process's memory."""
    with path.open("rb", buffering=0) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def replacing(folder: Path, draft: Path) -> Iterator[Path]:
    """Give an empty folder to write to, always the same one; it takes the place of ``folder`` if all went well.

    Unlike `storage.atomic_folder` it leaves one draft behind when the process is killed, and not one each time.
    """
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft)
    yield draft
    make_folder(folder.parent)
    if folder.exists():
        old = draft.with_name(f"{draft.name}-old")
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
        draft.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        draft.rename(folder)


def _meta(folder: Path) -> tuple[dict[str, tuple[int, str]], Any] | None:
    try:
        check, content = json.loads((folder / _META).read_text(encoding="utf-8"))
        if hashlib.sha256(content.encode()).hexdigest() != check:
            return None
        sums, note = json.loads(content)
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return sums, note


def _sound(folder: Path, sums: Mapping[str, tuple[int, str]], small: int) -> bool:
    files = [folder / name for name in sums]
    try:
        if [path.stat().st_size for path in files] != [size for size, _ in sums.values()]:
            return False
        if _size(files) >= small and _stamps(files) == json.loads((folder / _CHECKED).read_text(encoding="utf-8")):
            return True
    except (FileNotFoundError, ValueError):
        pass  # nothing is known of the last look, so all is hashed; a missing file is found there
    if not _hashed(folder, sums):
        return False
    if _size(files) >= small:
        _remember(folder, files)
    return True


def _hashed(folder: Path, sums: Mapping[str, tuple[int, str]]) -> bool:
    try:
        return all(digest(folder / name) == check for name, (_, check) in sums.items())
    except OSError:
        return False


def _remember(folder: Path, files: list[Path]) -> None:
    with contextlib.suppress(OSError), atomic_write(folder / _CHECKED) as draft:  # a folder that can only be read
        draft.write_text(json.dumps(_stamps(files)), encoding="utf-8")


def _stamps(files: list[Path]) -> list[list[str | int]]:
    # Without the path: a folder that is moved, or mounted elsewhere, is the same.
    return [[path.name, *file_stamp(path)[1:]] for path in files]


def _size(files: list[Path]) -> int:
    return sum(path.stat().st_size for path in files)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
