"""Where every document of a large file stands, so that a few of them can be read without the rest.

An index takes 20 bytes for each document: a hash of its docno, and where its line begins and how long it is. It is kept
in the cache under the hash of the file, so that a file with other documents has another one; its arrays are mapped, and
have checksums. A compressed file can only be read from its beginning: its lines are copied to the cache, once.
"""

import hashlib
import os
import shutil
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.files import ArrayFile, open_folder, replacing, write_folder
from quipukit.collections.base import Document
from quipukit.errors import ResourceError
from quipukit.io.reading import HEAD, line_end
from quipukit.storage import cache_home, locked, make_folder

# The number of a line, the line, and the document that it holds; None where it holds none.
Lines = Callable[[], Iterator[tuple[int, str, Document | None]]]
Parse = Callable[[str], Document | None]

_LAYOUT = 1
_PER_DOCUMENT = 20


@dataclass(frozen=True)
class Size:
    """How large a file is: documents, and bytes of its lines with their ends, decompressed."""

    documents: int
    bytes: int


@dataclass(frozen=True, eq=False)
class Offsets:
    """Line ``i``, by the hash of its docno, is ``lengths[i]`` bytes from byte ``starts[i]`` of a file on."""

    file: Path
    hashes: "NDArray[np.uint64]"
    starts: "NDArray[np.int64]"
    lengths: "NDArray[np.uint32]"

    @classmethod
    def of(cls, path: Path, fingerprint: str, lines: Lines, size: Size) -> "Offsets":
        """Open the index of a file, or build it: ``lines`` reads the file from its beginning."""
        folder = cache_home() / "texts" / f"{fingerprint[:32]}-{_LAYOUT}"
        with locked(folder):  # who waits finds it built
            arrays = open_folder(folder)
            if arrays is None:
                in_place = _ends_in_line_feeds(path)
                _check_room(folder.parent, size.documents * _PER_DOCUMENT + (0 if in_place else size.bytes))
                with replacing(folder, folder.with_name(f"{folder.name}-draft")) as draft:
                    _build(draft, _places_in(path, lines) if in_place else _copied(draft, lines, size))
                arrays = open_folder(folder)
        if arrays is None:
            raise ResourceError(f"{folder} was written, but cannot be read again; check the disk.")
        copy = folder / "lines.npy"
        return cls(copy if "lines" in arrays else path, arrays["hashes"], arrays["starts"], arrays["lengths"])

    def texts(self, docnos: Sequence[str], parse: Parse) -> Mapping[str, str]:
        """Return the texts of some documents, in the order in which they are asked for."""
        wanted = list(dict.fromkeys(docnos))
        hashes = np.array([_hash(docno) for docno in wanted], np.uint64)
        first, last = np.searchsorted(self.hashes, hashes, "left"), np.searchsorted(self.hashes, hashes, "right")
        counts = last - first
        # Of docnos that share a hash all are looked at.
        places = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        asked = np.repeat(np.arange(len(wanted)), counts)
        texts: list[str | None] = [None] * len(wanted)
        with self.file.open("rb", buffering=0) as file:
            for number in np.argsort(self.starts[places], kind="stable").tolist():  # in the order of the disk
                start, owner = int(self.starts[places[number]]), int(asked[number])
                line = os.pread(file.fileno(), int(self.lengths[places[number]]), start)
                document = parse(line.decode("utf-8-sig" if start == 0 else "utf-8"))
                if document is not None and document[0] == wanted[owner]:
                    texts[owner] = document[1]
        return {docno: text for docno, text in zip(wanted, texts, strict=True) if text is not None}


def _ends_in_line_feeds(path: Path) -> bool:
    """Return whether a file can be entered at any of its lines."""
    if path.suffix.lower() == ".gz":
        return False
    with path.open("rb") as file:
        return line_end(file.read(HEAD)) == "\n"


def _check_room(folder: Path, needed: float) -> None:
    make_folder(folder)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ResourceError(
            f"to read single documents of a large file, {needed / 1e9:.2f} GB are needed on the disk of {folder}, "
            f"which has {free / 1e9:.2f} GB free; free some space, or set QUIPUKIT_HOME to a folder on a larger disk."
        )


def _build(folder: Path, places: Iterator[tuple[str, int, int]]) -> None:
    hashes, starts, lengths = array("Q"), array("q"), array("I")
    for docno, start, length in places:
        hashes.append(_hash(docno))
        starts.append(start)
        lengths.append(length)
    order = np.argsort(np.frombuffer(hashes, np.uint64), kind="stable")
    arrays: dict[str, NDArray[Any]] = {
        "hashes": np.frombuffer(hashes, np.uint64)[order],
        "starts": np.frombuffer(starts, np.int64)[order],
        "lengths": np.frombuffer(lengths, np.uint32)[order],
    }
    write_folder(folder, arrays, _LAYOUT)


def _places_in(path: Path, lines: Lines) -> Iterator[tuple[str, int, int]]:
    """Iterate over docnos, and where their lines are in the file."""
    start = 0
    with path.open("rb") as file:
        for raw, (_, _, document) in zip(file, lines(), strict=True):
            if document is not None:
                yield document[0], start, len(raw.removesuffix(b"\n").removesuffix(b"\r"))
            start += len(raw)


def _copied(folder: Path, lines: Lines, size: Size) -> Iterator[tuple[str, int, int]]:
    """Write the lines of a file, and iterate over docnos and where their lines are in the copy."""
    path = folder / "lines.npy"
    with ArrayFile(path, np.uint8, size.bytes) as file:
        start = begin = file.position
        for _, line, document in lines():
            raw = line.encode()
            file.append(np.frombuffer(raw + b"\n", np.uint8))
            if document is not None:
                yield document[0], start, len(raw)
            start += len(raw) + 1
        if start != begin + size.bytes:
            raise ResourceError(f"{folder}: the documents changed while they were read; start again.")


def _hash(docno: str) -> int:
    return int.from_bytes(hashlib.blake2b(docno.encode(), digest_size=8).digest(), "little")
