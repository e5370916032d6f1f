"""A query log made from WordNet's words and from templates of queries: seeded, and free to be passed on.

The recipe, with ``size`` entries in the end:

1. The built-in queries are entries like any other.
2. Two thirds of the log lie around *centers*, `PER_CENTRE` entries each. The concepts of the built-in queries are
   centers, and so are concepts with `COMPANY` neighbors or more, drawn from all kinds until two thirds are filled: a
   crowd around a query must not tell that it is one of ours. An entry of a crowd is about the center itself (with
   probability `SELF`) or about a neighbor: what it is a kind of, the other kinds of that, or its own kinds, two
   levels down.
3. The last third is about concepts drawn from all kinds, without centers.
4. To draw a concept: a kind (illness, money, person, place ...: `ROOTS`), each with equal chance, then a concept of it.
5. To write an entry about a concept: one of its words, if WordNet uses each part of it `COMMON` times or more, is put
   into a template of its kind, or with probability `GENERAL` into one for any kind. ``{x}`` is the word, ``{a}`` the
   word with its article, ``{y}`` a word of another concept (nearby, in a crowd).
6. An entry whose key is there already, or which holds a slur or an obscenity, is generated again; in the end all are
   shuffled.

Each center has a stream of random numbers of its own. The templates are in wordnet_templates.tsv.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TypeVar

import numpy as np

from quipukit.collections.wordnet_glosses import Topic
from quipukit.errors import InputError
from quipukit.seeds import keyed
from quipukit.text import key
from quipukit.vectors.wordfilter import offensive
from quipukit.wordnet.database import Pos, Synset, WordNet

SIZE = 120_000
PER_CENTRE = 120
SELF = 0.25
GENERAL = 0.2
COMMON = 5
COMPANY = 8

# The kinds of nouns: a kind is all that lies below its roots and below no root before them.
ROOTS: dict[str, tuple[str, ...]] = {
    "": ("n07992450",),  # names of species and genera: nobody asks for them
    "illness": ("n14051917", "n14299637", "n14373582"),
    "drug": ("n03247620",),
    "care": ("n00657604", "n01024392", "n05739043", "n00142361"),
    "wrong": ("n00732746",),
    "feeling": ("n00026192",),
    "money": ("n00032613",),
    "belief": ("n05941423",),
    "person": ("n00007846",),
    "animal": ("n00015388",),
    "plant": ("n00017222",),
    "food": ("n00021265",),
    "body": ("n05220461",),
    "thing": ("n00021939",),
    "place": ("n00027167",),
    "group": ("n00031264",),
    "words": ("n00033020",),
    "act": ("n00030358",),
    "state": ("n00024720",),
    "idea": ("n00001740",),
}
VERBS = "do"
ANY = "any"

NOUN_AND_VERB: tuple[Pos, ...] = ("n", "v")
OWNER = "wordnet-log"  # of the streams of random numbers
TRIES = 20 * PER_CENTRE  # then a crowd that repeats itself stays smaller

_WORD = re.compile(r"[a-z][a-z -]{2,29}")
_JOINT = re.compile("[ -]")

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One query of the log, the synset it is about, and the center around which it lies (its own synset if none)."""

    query: str
    synset: str
    center: str


def query_log(wordnet: WordNet, topics: Sequence[Topic], seed: int, size: int) -> list[Entry]:
    """Return a log of ``size`` entries with distinct keys; the same seed gives the same log."""
    centers = dict.fromkeys(topic.synsets[0] for topic in topics)
    crowds = 2 * size // (3 * PER_CENTRE)
    if crowds < 2 * len(centers):
        least = 3 * PER_CENTRE * len(centers)
        raise InputError(f"a log around {len(centers)} concepts needs at least {least:,} entries (asked for {size:,}).")
    writer = _Writer(wordnet)
    # Spelled as ever: the word is part of the key of a random stream.
    rng = keyed(seed, "independent", OWNER, "centres", 0)
    while len(centers) < crowds:
        center = writer.draw(rng)
        if len(writer.neighbors(center)) >= COMPANY:
            centers[center] = None
    entries = {key(topic.query): Entry(topic.query, topic.synsets[0], topic.synsets[0]) for topic in topics}
    add = _adding(entries)
    for center in centers:
        rng = keyed(seed, "independent", OWNER, center, 0)
        goal = len(entries) + PER_CENTRE
        for entry in writer.crowd(rng, center):
            add(entry)
            if len(entries) == goal:
                break
    rng = keyed(seed, "independent", OWNER, "rest", 0)
    while len(entries) < size:
        add(writer.alone(rng))
    order = keyed(seed, "independent", OWNER, "order", 0).permutation(len(entries))
    queries = list(entries.values())
    return [queries[row] for row in order]


def _adding(entries: dict[str, Entry]) -> Callable[[Entry], None]:
    """Return what adds an entry, unless its key is there or one of its words is offensive."""
    removed = offensive()
    has = functools.cache(removed.has)  # the same words come again and again

    def add(entry: Entry) -> None:
        spelled = key(entry.query)
        if spelled not in entries and not removed.has(spelled) and not any(map(has, removed.parts(spelled))):
            entries[spelled] = entry

    return add


class _Writer:
    """Draws concepts and writes queries about them."""

    def __init__(self, wordnet: WordNet) -> None:
        self._templates = _templates()
        self._synsets = {synset.id: synset for pos in NOUN_AND_VERB for synset in wordnet.all_synsets(pos)}
        self._kinds = _kinds(self._synsets)
        counts = wordnet.word_counts()
        self._words: dict[str, tuple[str, ...]] = {}
        by_kind: dict[str, list[str]] = {}
        for id, synset in self._synsets.items():
            if self._kinds[id] and (words := _common_words(synset, counts)):
                self._words[id] = words
                by_kind.setdefault(self._kinds[id], []).append(id)
        self._by_kind = list(by_kind.values())

    def draw(self, rng: np.random.Generator) -> str:
        """Return a concept: of a kind at random, one at random."""
        kind, member = rng.random(2).tolist()
        return _at(_at(self._by_kind, kind), member)

    def neighbors(self, id: str) -> list[str]:
        """Return the concepts nearby that have words: above, beside, and two levels below."""
        below = _below(self._synsets, [id])
        above = self._synsets[id].targets("hypernym", "instance_hypernym")
        related = dict.fromkeys([*above, *_below(self._synsets, above), *below, *_below(self._synsets, below)])
        return [near for near in related if near in self._words and near != id]

    def crowd(self, rng: np.random.Generator, center: str) -> Iterator[Entry]:
        """Write queries about a center and its neighbors; the same may come twice."""
        around = self.neighbors(center)
        itself = [center] if center in self._words else around
        around = around or itself
        for _ in range(TRIES if around else 0):
            about, one, other = rng.random(3).tolist()
            concept = _at(itself if about < SELF else around, one)
            yield self._write(rng, concept, _at(around, other), center)

    def alone(self, rng: np.random.Generator) -> Entry:
        """Write a query about a concept at random."""
        concept = self.draw(rng)
        return self._write(rng, concept, self.draw(rng), concept)

    def _write(self, rng: np.random.Generator, concept: str, other: str, center: str) -> Entry:
        general, which, one, two = rng.random(4).tolist()
        template = _at(self._templates[ANY if general < GENERAL else self._kinds[concept]], which)
        word, second = _at(self._words[concept], one), _at(self._words[other], two)
        if word == second and "{y}" in template:
            template = "{x}"  # a word is not compared with itself
        article = "an" if word[0] in "aeiou" else "a"
        query = template.replace("{x}", word).replace("{a}", f"{article} {word}").replace("{y}", second)
        return Entry(query, concept, center)


def _kinds(synsets: Mapping[str, Synset]) -> dict[str, str]:
    """Return the kind of every synset; empty for what nobody asks for."""
    kinds = {id: VERBS for id in synsets if id[0] == "v"}
    for kind, roots in ROOTS.items():
        level: Sequence[str] = roots
        while level:
            new = [id for id in level if id not in kinds]
            kinds.update(dict.fromkeys(new, kind))
            level = _below(synsets, new)
    return kinds


def _below(synsets: Mapping[str, Synset], ids: Sequence[str]) -> list[str]:
    children = (below for id in ids for below in synsets[id].targets("hyponym", "instance_hyponym"))
    return list(dict.fromkeys(children))


def _common_words(synset: Synset, counts: Mapping[str, int]) -> tuple[str, ...]:
    spelled = dict.fromkeys(lemma.lower().replace("_", " ") for lemma in synset.lemmas)
    return tuple(
        word
        for word in spelled
        if _WORD.fullmatch(word) and all(counts.get(part, 0) >= COMMON for part in _JOINT.split(word))
    )


def _at(members: Sequence[T], share: float) -> T:
    """Return the member at a share of the way, 0 <= share < 1."""
    return members[int(share * len(members))]


@functools.cache
def _templates() -> dict[str, list[str]]:
    text = files("quipukit.collections").joinpath("wordnet_templates.tsv").read_text(encoding="utf-8")
    by_kind: dict[str, list[str]] = {}
    for line in text.splitlines()[1:]:
        kind, template = line.split("\t")
        by_kind.setdefault(kind, []).append(template)
    return by_kind
