"""Rankings kept on disk while they arrive, so that a run that was cut off asks only what is missing.

One file, to which lines are only ever appended: a checksum, a tab, and ``[key, docnos, scores]`` as JSON, with what was
shown of the documents as a fourth where the retriever shows something. A process
killed at any moment leaves at most one incomplete line at the end; it fails its checksum and is asked again.
"""

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Protocol, Self, runtime_checkable

import numpy as np

from quipukit.errors import EngineError, FileError, InputError
from quipukit.progress import Progress
from quipukit.retrieval.base import Ranking, Retriever, Shown
from quipukit.secret import keyed_hash
from quipukit.storage import make_folder

_CHUNK = 64  # queries at a time for a retriever that cannot stream


@runtime_checkable
class Streaming(Protocol):
    """A retriever that hands out rankings as they arrive, as HttpEngine does."""

    def search_iter(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, Ranking]]:
        """Yield (position of the query, its ranking)."""


class Saved(Retriever):
    """A retriever that keeps what it found in ``folder``, and never asks for it again.

    The key is a hash of the retriever's identity, the depth and the exact text of the query, under the secret of this
    installation; texts are not stored. (Whoever reads the file sees which documents were found, and can ask the same
    index for a guess: keep the folder as private as the queries.) An index that changes behind the same address is not
    noticed: the folder belongs to one run.

    ``identity`` is needed for a retriever that states none: it has to change whenever the answers may.
    """

    def __init__(self, retriever: Retriever, folder: str | Path, identity: str = "") -> None:
        identity = identity or retriever.identity
        if not identity:
            raise InputError(f"to save the rankings of {retriever.name}, pass identity=, which distinguishes them.")
        self.retriever, self.name, self.identity = retriever, retriever.name, identity
        self.remote, self.window, self.shows = retriever.remote, retriever.window, retriever.shows
        self.path = Path(folder) / "rankings.jsonl"
        self._hash = keyed_hash(32)
        self._places: dict[str, tuple[int, int]] = {}  # key -> where its line stands in the file
        self._seen = 0  # bytes of the file that _places covers

    def search(self, queries: Sequence[str], depth: int, progress: Progress | None = None) -> list[Ranking]:
        """Return a ranking for every query, asking only for those that are not saved; see HttpEngine.search."""
        rankings: dict[int, Ranking] = {}
        for number, result in self.search_iter(queries, depth):
            rankings[number] = result
            if progress:
                progress(len(rankings), len(queries))
        return [rankings[number] for number in range(len(queries))]

    def search_iter(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, Ranking]]:
        """Yield what is saved, then what is missing as it arrives; each ranking is on disk before it is yielded."""
        self._refresh()
        positions: dict[str, list[int]] = {}
        for number, query in enumerate(queries):
            positions.setdefault(self._key(query, depth), []).append(number)
        missing = [key for key in positions if key not in self._places]
        done = 0
        for key, result in self._load([key for key in positions if key in self._places]):
            for number in positions[key]:
                done += 1
                yield number, result
        if not missing:
            return
        firsts = [positions[key][0] for key in missing]
        trouble: EngineError | None = None
        with _Appender(self.path) as file:
            try:
                for place, result in self._stream([queries[number] for number in firsts], depth):
                    file.append(_line(missing[place], result))
                    for number in positions[missing[place]]:
                        done += 1
                        yield number, result
            except EngineError as error:
                trouble = error
        if trouble:  # in the numbers of the whole batch, and outside of the except so that no context hangs on it
            failed = tuple(firsts[place] for place in trouble.failed)
            raise EngineError(trouble.engine, trouble.reason, failed, done, len(queries))

    def _stream(self, queries: Sequence[str], depth: int) -> Iterator[tuple[int, Ranking]]:
        if isinstance(self.retriever, Streaming):
            yield from self.retriever.search_iter(queries, depth)
            return
        for start in range(0, len(queries), _CHUNK):
            yield from enumerate(self.retriever.search(queries[start : start + _CHUNK], depth), start)

    def _key(self, query: str, depth: int) -> str:
        # JSON writes half surrogates as escapes, so that any text has a hash.
        one = self._hash.copy()
        # What was answered without titles and snippets is of no use to who needs them.
        one.update(json.dumps([self.identity, depth, query, *(["shown"] if self.shows else [])]).encode())
        return one.hexdigest()

    def _refresh(self) -> None:
        """Take note of the lines that were added, by this object or by another process, since the last look."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size < self._seen:  # another process started the file over
            self._places, self._seen = {}, 0
        if size == self._seen:
            return
        with self.path.open("rb") as file:
            file.seek(self._seen)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                body = _body(line)
                if body:
                    self._places[_key_of(body)] = (self._seen, len(line))
                self._seen += len(line)

    def _load(self, keys: Sequence[str]) -> Iterator[tuple[str, Ranking]]:
        if not keys:
            return
        with self.path.open("rb") as file:
            for key in keys:
                offset, size = self._places[key]
                file.seek(offset)
                body = _body(file.read(size))
                if not body or _key_of(body) != key:
                    raise FileError(f"{self.path} was changed while it was in use; run again.")
                _, docnos, scores, *shown = json.loads(body)
                yield key, Ranking(docnos, np.array(scores, np.float64), _shown(docnos, *shown))


class _Appender:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            make_folder(path.parent)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as error:
            raise FileError(f"{path} cannot be written ({error.strerror}); choose another folder.") from None
        size = os.fstat(self._file).st_size
        # The end of a killed process: its half line must not swallow the first one of ours.
        self._broken = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)

    def append(self, line: bytes) -> None:
        line = b"\n" + line if self._broken else line
        # One call to the system: a kill comes before it or after it, and lines of two processes do not mix.
        try:
            written = os.write(self._file, line)
        except OSError:
            written = 0
        if written != len(line):
            raise FileError(f"{self._path} cannot be written; is the disk full?")
        self._broken = False


def saved_shown(folder: str | Path) -> dict[str, Shown]:
    """Return what was shown of all documents whose rankings are kept in a folder."""
    shown: dict[str, Shown] = {}
    path = Path(folder) / "rankings.jsonl"
    if not path.exists():
        return shown
    with path.open("rb") as file:
        for line in file:
            body = _body(line) if line.endswith(b"\n") else None
            _, docnos, _, *texts = json.loads(body) if body else (None, [], [])
            shown |= _shown(docnos, *texts)
    return shown


def _shown(docnos: Sequence[str], texts: Sequence[Sequence[str]] = ()) -> dict[str, Shown]:
    return {docno: Shown(*own) for docno, own in zip(docnos, texts, strict=False) if own}


def _line(key: str, result: Ranking) -> bytes:
    shown = [astuple(result.shown[docno]) if docno in result.shown else () for docno in result.docnos]
    content = [key, result.docnos, result.scores.tolist(), *([shown] if any(shown) else [])]
    body = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x\t%s\n" % (zlib.crc32(body), body)


def _body(line: bytes) -> bytes | None:
    """Return what stands after the checksum; None if the line is damaged."""
    checksum, _, body = line.removesuffix(b"\n").partition(b"\t")
    return body if body and checksum == b"%08x" % zlib.crc32(body) else None


def _key_of(body: bytes) -> str:
    return body[2:66].decode()  # the hash at the beginning; reading all of the JSON would cost ten times as much
