"""Folders as collections: docs.tsv or docs.jsonl, topics.tsv and qrels.txt, each plain or gzipped.

| file | a line |
|---|---|
| docs.tsv[.gz] | docno TAB text |
| docs.jsonl[.gz] | an object with docno (or docid, id, _id), text (or contents), and perhaps title |
| topics.tsv[.gz] | qid TAB query |
| qrels.txt[.gz] | qid 0 docno relevance (TREC) |
"""

import functools
import hashlib
import os
import warnings
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Members
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quipukit.collections.base import Collection, Document
from quipukit.collections.offsets import Offsets, Size
from quipukit.errors import FileError, QrelsWarning
from quipukit.frames import QRELS
from quipukit.io.queries import read_queries
from quipukit.io.reading import file_kind, is_header, numbered_lines, parse_object
from quipukit.io.trec import read_qrels
from quipukit.storage import sha256

Pathish = str | os.PathLike[str]

# Below this many characters texts are kept in memory once they are asked for; above, an index says where they stand.
KEEP_CHARACTERS = 200_000_000

_DOCS = ("docs.tsv", "docs.tsv.gz", "docs.jsonl", "docs.jsonl.gz")
_TOPICS = ("topics.tsv", "topics.tsv.gz")
_QRELS = ("qrels.txt", "qrels.txt.gz")
_IDS = ("docno", "docid", "id", "_id")
_TEXTS = ("text", "contents")
_NO_DOCUMENTS = hashlib.sha256(b"no documents").hexdigest()


class Folder(Collection):
    """A collection in files: one folder with the usual names, or any file named by itself.

    ``Folder("vaswani")`` looks for the usual names; ``Folder(docs=..., topics=..., qrels=...)`` takes files from
    anywhere, and both can be mixed. Documents are streamed, and looked through once before they are used: a line
    that cannot be read and a docno that comes twice are found before anything is built from them.
    ``documents=False`` allows that there are none: an engine over the network has its own.
    """

    def __init__(
        self,
        folder: Pathish | None = None,
        *,
        docs: Pathish | None = None,
        topics: Pathish | None = None,
        qrels: Pathish | None = None,
        documents: bool = True,
    ) -> None:
        place = None if folder is None else _folder(folder)
        path = _choose(place, docs, _DOCS)
        if path is None and documents:
            where = "no file of documents was named" if place is None else f"{place} has no file of documents"
            raise FileError(
                f"{where}; write lines 'docno<TAB>text' to docs.tsv, or JSON lines to docs.jsonl. Only an engine's "
                "address needs none, if what it shows is re-ranked (--rerank-on snippet), or nothing (--reranker none)."
            )
        self._docs = path
        self._parse = _parser(path) if path else _from_tsv
        self._topics = _choose(place, topics, _TOPICS)
        self._judged = _choose(place, qrels, _QRELS)
        # The folder's own name, not its path: results carry it, and should not tell where things lie on a machine.
        self.name = (place or self._beside).resolve().name
        self._qrels: pd.DataFrame | None = None
        self._kept: tuple[Stamp, dict[str, str]] | None = None
        self._offsets: tuple[Stamp, Offsets] | None = None

    def __repr__(self) -> str:
        named = {"docs": self._docs, "topics": self._topics, "qrels": self._judged}
        return f"Folder({', '.join(f'{role}={str(path)!r}' for role, path in named.items() if path)})"

    @property
    def _beside(self) -> Path:
        """Return the folder of the first file that is there."""
        return next((path.resolve().parent for path in (self._docs, self._topics, self._judged) if path), Path())

    @property
    def fingerprint(self) -> str:
        """Return SHA-256 over the file of documents as it is; an unchanged file is hashed once."""
        return _NO_DOCUMENTS if self._docs is None else _hash(_stamp(self._docs))

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents in the order of the file."""
        if self._docs is None:
            return iter(())
        _survey(_stamp(self._docs))
        return _documents(self._docs, self._parse)

    def __len__(self) -> int:
        return 0 if self._docs is None else _survey(_stamp(self._docs)).size.documents

    def queries(self) -> pd.DataFrame:
        """Return the queries of topics.tsv."""
        if self._topics is None:
            raise FileError(f"{self._beside} has no topics.tsv; write lines 'qid<TAB>query' to it.")
        return read_queries(self._topics)

    def qrels(self) -> pd.DataFrame:
        """Return the judgments; empty where there is no qrels.txt.

        Judged documents that are not in the collection are kept, because they could have been found; judgments of
        queries that are not in topics.tsv are dropped. Either gives a warning, and where nothing
        matches at all the files do not belong together: that is an error.
        """
        if self._qrels is None:
            self._qrels = self._read_judgments()
        return self._qrels.copy()

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of some documents, from memory where the collection is small enough to be kept there.

        Of a larger one they are read where they stand in the file, which an index in the cache knows (`offsets`).
        """
        if self._docs is None:
            return {}
        stamp = _stamp(self._docs)
        if _survey(stamp).characters > KEEP_CHARACTERS:
            return self._read(self._docs, stamp, docnos)
        if self._kept is None or self._kept[0] != stamp:
            self._kept = stamp, dict(self.documents())
        kept = self._kept[1]
        return {docno: kept[docno] for docno in docnos if docno in kept}

    def _read(self, docs: Path, stamp: "Stamp", docnos: Sequence[str]) -> Mapping[str, str]:
        if self._offsets is None or self._offsets[0] != stamp:
            lines = functools.partial(_parsed_lines, docs, self._parse)
            self._offsets = stamp, Offsets.of(docs, _hash(stamp), lines, _survey(stamp).size)
        try:
            # No line is the first: the index knows which hold a document, and a header is none.
            return self._offsets[1].texts(docnos, lambda line: self._parse(line, 2))
        finally:
            if _stamp(docs) != stamp:
                raise FileError(f"{docs} changed while it was read; run the command again.")

    def _read_judgments(self) -> pd.DataFrame:
        if self._judged is None:
            return QRELS.empty()
        table = read_qrels(self._judged)
        if self._topics is not None:
            asked = set(self.queries()["qid"])
            unasked = [qid for qid in dict.fromkeys(table["qid"]) if qid not in asked]
            self._complain(unasked, table["qid"].nunique(), "queries", self._topics, "they are left out")
            table = table[table["qid"].isin(asked)].reset_index(drop=True)
        if self._docs is None:
            return table
        missing = dict.fromkeys(table["docno"])
        judged = len(missing)
        for docno, _ in self.documents():
            missing.pop(docno, None)
        self._complain(list(missing), judged, "documents", self._docs, "what is relevant among them cannot be found")
        return table

    def _complain(self, unknown: Sequence[str], total: int, what: str, where: Path, effect: str) -> None:
        if not unknown:
            return
        if len(unknown) == total:  # the ids are not shown: the file may be something else, with queries in it
            raise FileError(
                f"{self._judged}: none of the {total:,} judged {what} is in {where.name}; "
                "the files belong to different collections, or write the ids differently."
            )
        first = ", ".join(unknown[:3]) + (" ..." if len(unknown) > 3 else "")
        warnings.warn(
            f"{self._judged}: {len(unknown):,} of {total:,} judged {what} are not in {where.name} ({first}); {effect}.",
            QrelsWarning,
            stacklevel=4,
        )


# --- finding the files --------------------------------------------------------------------------------------------


def _folder(path: Pathish) -> Path:
    place = Path(path).expanduser()
    if not place.is_dir():
        raise FileError(f"{place}: there is no such folder; check the path.")
    return place


def _choose(place: Path | None, given: Pathish | None, usual: Members[str]) -> Path | None:
    if given is not None:
        path = Path(given).expanduser()
        if not path.is_file():
            raise FileError(f"{path}: there is no such file; check the path.")
        return path
    there = [place / name for name in usual if (place / name).is_file()] if place else []
    if len(there) > 1:
        names = " and ".join(path.name for path in there)
        raise FileError(f"{place} has {names}; keep one of them, or name the one that is meant.")
    return there[0] if there else None


# --- what is known of a file, as long as it does not change -------------------------------------------------------


@dataclass(frozen=True)
class Stamp:
    """A file as it was at one time; another size or time of change makes another stamp."""

    path: Path
    size: int
    changed: int


@dataclass(frozen=True)
class Survey:
    """What one look through all documents tells."""

    size: Size
    characters: int


def _stamp(path: Path) -> Stamp:
    try:
        state = path.stat()
    except OSError as fault:
        raise FileError(f"{path} cannot be read ({fault.strerror}); check the path.") from None
    return Stamp(path, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _hash(stamp: Stamp) -> str:
    return sha256(stamp.path)


@functools.lru_cache(maxsize=64)
def _survey(stamp: Stamp) -> Survey:
    """Read all documents once: count them, and see to it that no docno comes twice."""
    parse = _parser(stamp.path)
    # Eight bytes per document: ten million docnos as strings would need a hundred times that.
    hashes = array("q")
    characters = size = 0
    for _, line, document in _parsed_lines(stamp.path, parse):
        size += 1 + (len(line) if line.isascii() else len(line.encode()))
        if document:
            hashes.append(hash(document[0]))
            characters += len(document[1])
    if not hashes:
        raise FileError(f"{stamp.path} holds no document; write one per line.")
    ordered = np.sort(np.frombuffer(hashes, np.int64))
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if suspects:
        _name_duplicates(stamp.path, parse, suspects)
    return Survey(Size(len(hashes), size), characters)


def _name_duplicates(path: Path, parse: "Parse", suspects: set[int]) -> None:
    # Equal hashes only raise a suspicion; the docnos themselves decide.
    # They are named by their lines: in a file that is something else they may be queries.
    lines: dict[str, list[int]] = {}
    for number, (docno, _) in _numbered_documents(path, parse):
        if hash(docno) in suspects:
            lines.setdefault(docno, []).append(number)
    twice = [numbers for numbers in lines.values() if len(numbers) > 1]
    if twice:
        first = " and ".join(map(str, twice[0][:2]))
        raise FileError(
            f"{path}: docnos that come more than once: {len(twice):,} (first in lines {first}); keep one of each."
        )


# --- reading documents --------------------------------------------------------------------------------------------

Parse = Callable[[str, int], Document | None]


def _parser(path: Path) -> Parse:
    kind = file_kind(path)
    if kind in (".tsv", ".txt"):
        return _from_tsv
    if kind in (".jsonl", ".json"):
        return _from_json
    raise FileError(f"{path}: cannot tell the format; end the name in .tsv or .jsonl (.gz may follow).")


def _documents(path: Path, parse: Parse) -> Iterator[Document]:
    return (document for _, document in _numbered_documents(path, parse))


def _numbered_documents(path: Path, parse: Parse) -> Iterator[tuple[int, Document]]:
    return ((number, document) for number, _, document in _parsed_lines(path, parse) if document)


def _parsed_lines(path: Path, parse: Parse) -> Iterator[tuple[int, str, Document | None]]:
    for number, line in numbered_lines(path):
        try:
            yield number, line, parse(line, number) if line and not line.isspace() else None
        except ValueError as fault:
            raise FileError(f"{path}, line {number}: {fault}") from None


def _from_tsv(line: str, number: int) -> Document | None:
    docno, tab, text = line.partition("\t")
    docno = docno.strip()
    if not tab:
        raise ValueError("a column is missing; write 'docno<TAB>text'.")
    if number == 1 and len(text.split()) == 1 and is_header(docno, text, _IDS, _TEXTS):
        return None
    if not docno:
        raise ValueError("the docno is empty; give every document one.")
    return docno, text


def _from_json(line: str, number: int) -> Document:
    fields = parse_object(line)
    docno = _field(fields, _IDS, (str, int))
    text = _field(fields, _TEXTS, (str,))
    title = fields.get("title")
    return str(docno).strip(), f"{title} {text}" if isinstance(title, str) and title.strip() else text


def _field(fields: dict[str, Any], names: Sequence[str], types: tuple[type, ...]) -> Any:
    for name in names:
        value = fields.get(name)
        if isinstance(value, types) and not isinstance(value, bool) and (name in _TEXTS or str(value).strip()):
            return value
    found = ", ".join(repr(name) for name in fields) or "nothing"
    raise ValueError(f"{names[0]!r} is missing or of the wrong type (found {found}); add it.")
