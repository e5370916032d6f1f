"""Documents in chunks, each as a sorted run of postings: what an index on disk is merged from.

Where a chunk ends depends on the documents alone. A finished run is kept with a hash over its documents: a build that
was killed reads the documents again, and divides into words only those that no kept run was made from.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.files import Array, mapped, open_folder, read_note, write_folder
from quipukit.bm25.formula import Settings
from quipukit.bm25.index import WordStream, counted, read_words, terms_of
from quipukit.bm25.strings import StringTable

Document = tuple[str, str]
Rows = NDArray[np.int64]

_FORMAT = 1
# The arrays of a run that are read piece by piece; the others stay in memory while runs are merged.
_POSTINGS = ("documents", "frequencies")


@dataclass(frozen=True)
class ChunkSize:
    """Where a chunk ends: at so many documents or characters, whichever comes first."""

    documents: int = 250_000
    characters: int = 100_000_000


def chunks(documents: Iterable[Document], size: ChunkSize) -> Iterator[tuple[list[Document], bool]]:
    """Divide documents into chunks, in order, and say of each whether it is the last; no document is divided."""
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        if len(chunk) == size.documents or characters >= size.characters:
            yield chunk, False
            chunk, characters = [], 0
        chunk.append(document)
        characters += len(document[1])
    if chunk:
        yield chunk, True


@dataclass(frozen=True, eq=False)
class Run:
    """The postings of a chunk, by term in the order of the terms, then by document in the order of the chunk.

    ``places`` is where every document's docno is among ``docnos``, which are sorted. ``pairs`` are the distinct pairs
    of a term's frequency (times 2**32) and the length of the document.
    """

    docnos: StringTable
    places: NDArray[np.int32]
    lengths: NDArray[np.int32]
    terms: StringTable
    starts: Rows
    pairs: Rows
    postings: "Mapping[str, Array] | Path"

    @classmethod
    def of(cls, read: WordStream, settings: Settings, before: int = 0) -> "Run":
        """Sort the postings of a chunk; ``before`` is how many documents came before it."""
        docnos, places = _ordered(read.ids)
        if len(docnos) < len(read.ids):
            positions: dict[str, int] = {}
            for number, docno in enumerate(read.ids, before):
                if positions.setdefault(docno, number) != number:
                    raise DuplicateDocnosError(len(read.ids) - len(docnos), positions[docno], number)
        terms, term_of = terms_of(read.vocabulary, settings.stemmed)
        ordered, term_places = _ordered(terms)
        rows = term_places.astype(np.int64)[term_of] if len(terms) else term_of
        lengths = np.bincount(read.owners, minlength=len(read.ids)).astype(np.int32)
        documents, frequencies, starts = counted(rows[read.words], read.owners, len(read.ids), len(terms))
        pairs = np.unique((frequencies << 32) | lengths[documents])
        postings = {
            "documents": documents,
            "frequencies": frequencies.astype(np.min_scalar_type(frequencies.max(initial=0))),
        }
        return cls(StringTable.of(docnos), places, lengths, StringTable.of(ordered), starts, pairs, postings)

    @property
    def bytes(self) -> int:
        """Return the size of the run in memory or, nearly, on disk."""
        return sum(array.nbytes for array in self._arrays().values())

    def save(self, folder: Path, source: str) -> None:
        """Write the run; ``source`` is a hash over its documents."""
        write_folder(folder, self._arrays(), source)

    @classmethod
    def kept(cls, folder: Path, source: str) -> "Run | None":
        """Return the run that was made from the same documents, if it is there and undamaged."""
        arrays = open_folder(folder) if read_note(folder) == source else None
        if arrays is None:
            return None
        copies = {name: array.copy() for name, array in arrays.items() if name not in _POSTINGS}
        docnos, terms = (
            StringTable(copies.pop(f"{n}_content"), copies.pop(f"{n}_starts")) for n in ("docnos", "terms")
        )
        return cls(docnos=docnos, terms=terms, postings=folder, **copies)

    def part(self, name: str, start: int, end: int) -> Array:
        """Return some of the documents or frequencies of the postings."""
        if isinstance(self.postings, Path):
            # Mapped anew each time, and copied: pages that stay mapped would add up to the whole run.
            return mapped(self.postings / f"{name}.npy")[start:end].copy()
        return self.postings[name][start:end]

    def _arrays(self) -> dict[str, Array]:
        arrays: dict[str, Array] = {"places": self.places, "lengths": self.lengths, "starts": self.starts}
        for name, table in (("docnos", self.docnos), ("terms", self.terms)):
            arrays |= {f"{name}_content": table.content, f"{name}_starts": table.starts}
        postings = {name: self.part(name, 0, int(self.starts[-1])) for name in _POSTINGS}
        return {**arrays, "pairs": self.pairs, **postings}


def source_hash(documents: Sequence[Document], settings: Settings) -> str:
    """Return a hash over the documents of a chunk, and over what else a run depends on."""
    total = hashlib.blake2b(repr((_FORMAT, settings.stemmed, settings.skip_stop_words)).encode(), digest_size=32)
    for docno, text in documents:
        # The lengths say where one ends and the next begins.
        total.update(f"{len(docno)} {len(text)} {docno}{text}".encode("utf-8", "surrogatepass"))
    return total.hexdigest()


class DuplicateDocnosError(Exception):
    """Docnos come more than once: how many, and the positions of the first two documents with the same."""

    def __init__(self, count: int, first: int, second: int) -> None:
        super().__init__(count, first, second)
        self.count, self.first, self.second = count, first, second


def words_of(chunk: Iterable[Document], settings: Settings) -> WordStream:
    """Divide a chunk into words."""
    return read_words(chunk, settings.skip_stop_words)


def _ordered(strings: list[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct strings in order, and where each of the given ones is among them."""
    ordered = sorted(set(strings))
    row = dict(zip(ordered, itertools.count(), strict=False))
    return ordered, np.fromiter(map(row.__getitem__, strings), np.int32, len(strings))
