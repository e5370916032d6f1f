"""FEA (also FSH): keyqueries, other words that find the same documents of a local corpus."""

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quipukit.bm25.index import SmallIndex
from quipukit.errors import InputError, SpecError
from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.lexical import STOP_WORDS, stems, text_words
from quipukit.mechanisms.base import QueryMechanism, Variants, check_choice, check_flag, check_whole
from quipukit.text import key, tokenize
from quipukit.vectors.wordfilter import offensive
from quipukit.wordnet.database import WordNet, load_wordnet

# A keyquery brings this many targets into this many first results, of at least this many.
_KEY_HITS, _KEY_TOP, _KEY_RESULTS = 3, 10, 20
_MOST_CANDIDATES = 2_000_000
_RUN = re.compile(r"[^\W_]+")
# How WordNet's glosses mark the words of an entry as slurs and obscenities: "(ethnic slur) offensive term for ...".
_MARKED = re.compile(
    r"\b(?:offensive|disparaging|derogatory|pejorative|obscene|vulgar|insulting|contemptuous|abusive)\b"
    r"(?:,? \w+){0,3}? (?:terms?|names?|words?|slang|expressions?|reference)\b"
    r"|\((?:\w+ )?(?:offensive|disparaging|derogatory|pejorative|obscene|vulgar)\b"
    r"|\b(?:ethnic slur|negative term for|terms? of (?:abuse|contempt)|regarded as (?:offensive|obscene))\b"
)
_PADDING = np.iinfo(np.int64).max

Table = NDArray[np.int64]
Floats = NDArray[np.float64]


class _TooManyCandidates(SpecError):
    """One query has more candidates than can be weighed."""


@dataclass(frozen=True, kw_only=True)
class FEA(QueryMechanism):
    """Send other words that find, in a local corpus, the documents which the query finds there.

    The targets T are the ``k`` best documents of the query (BM25). Each is read as the sequence of its words
    of letters only, without stop words. Candidates are all sets of 1 to ``max_terms`` words within ``window``
    consecutive words (``mode="subsets"``), or the window itself as one query (``mode="window"``; what is left
    of it without sensitive words).

    A word is sensitive, and never sent, if it or its stem is a word of the query, or belongs to a synonym,
    hyponym or hypernym of one in WordNet (all senses; the latter two of nouns), or is the stem of such a word.
    Slurs and obscenities are never sent either.

    Candidates are run to ``depth`` and ranked by nDCG with T as the relevant documents::

        nDCG = (sum over targets at rank r < depth of 1 / log2(r + 2)) / (sum over i < |T| of 1 / log2(i + 2))

    or, with ``select="pmi"``, by ln(hits * M / (df * |T|)): M documents, df of them match, and hits targets
    are among the first 10. Ties go by the sorted words. ``keyqueries=True`` keeps only candidates that bring 3
    targets into the first 10 of at least 20 results and contain no smaller one that does; it is made for
    corpora of more words than a dictionary has. Nothing is random: the variants are the best n. Where no
    candidate is left there is no variant, but the flag ``no_obfuscation``; where there are more than two million, too,
    with the flag ``too_many``.

    The local corpus is WordNet as a dictionary (``collection=None``), without the entries that it marks as offensive,
    disparaging, obscene or vulgar terms; an index, an object with ``documents()``, or any iterable of (id, text). 78 %
    of WordNet's entries have at most 12 such words, so windows of 12, 14 and 16 nearly coincide there. A document costs
    time by its length times C(window - 1, max_terms - 1).

    Guarantee: none. What the variants have in common is the topic of the query.

    Reference: Fröbe, Schmidt, Hagen. Efficient query obfuscation with keyqueries. WI-IAT 2021.

    >>> corpus = [("1", "prison for theft"), ("2", "theft, court, prison"), ("3", "the court of kings")]
    >>> FEA(window=12, collection=corpus).obfuscate("thefts", n=2)
    ['court prison', 'prison']
    """

    name: ClassVar[str] = "FEA"
    summary: ClassVar[str] = "other words that find the same documents of a local corpus"
    strategy: ClassVar[str] = "heuristic"
    reference: ClassVar[str] = "Fröbe et al., WI-IAT 2021"
    parameter: ClassVar[str] = "window"
    grid: ClassVar[tuple[float, ...]] = (12.0, 14.0, 16.0)
    default: ClassVar[float | None] = 12.0

    window: int
    k: int = 10
    max_terms: int = 3
    mode: str = "subsets"
    depth: int = 100
    keyqueries: bool = False
    select: str = "ndcg"
    wordnet: WordNet = field(default=None, repr=False)  # type: ignore[assignment]
    collection: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for option in ("window", "k", "max_terms", "depth"):
            high = 5 if option == "max_terms" else None
            object.__setattr__(self, option, check_whole(self.name, option, getattr(self, option), 1, high))
        check_choice(self.name, "mode", self.mode, ("subsets", "window"))
        check_choice(self.name, "select", self.select, ("ndcg", "pmi"))
        check_flag(self.name, "keyqueries", self.keyqueries)
        if self.wordnet is None:
            object.__setattr__(self, "wordnet", load_wordnet())
        if self.collection is not None:
            object.__setattr__(self, "collection", local_index(self.collection))

    @classmethod
    def shared_resources(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        # Indexed once for all settings; an iterator could not be read a second time either.
        return given if given.get("collection") is None else {**given, "collection": local_index(given["collection"])}

    @property
    def guarantee(self) -> Guarantee:
        return NoGuarantee("the variants are chosen to find what the query finds, which shows its topic")

    @property
    def index(self) -> SmallIndex:
        """Return the index of the local corpus; that of WordNet takes about a second, once."""
        return self.collection if isinstance(self.collection, SmallIndex) else _dictionary_index(self.wordnet)

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        if not tokenize(query):
            return Variants([""] * n, {"empty": 1})
        try:
            texts = self._best(query, n)
        except _TooManyCandidates:  # this query's documents are too long; the others of the batch go on
            return Variants([], {"no_obfuscation": 1, "too_many": 1})
        if not texts:
            return Variants([], {"no_obfuscation": 1})
        return Variants(texts, {"fewer": n - len(texts)} if len(texts) < n else {})

    def sensitive(self, query: str) -> frozenset[str]:
        """Return the words and stems that must not appear in a variant of the query."""
        # Every way of dividing the query counts, so that no part of "l'amour-propre" slips through.
        own = {*tokenize(query), *text_words(query), *_RUN.findall(key(query))}
        related = own.union(*(_relatives(self.wordnet, word) for word in own - STOP_WORDS))
        return frozenset(related.union(stem for stem in stems(related) if len(stem) > 2))

    def _best(self, query: str, n: int) -> list[str]:
        index = self.index
        targets, _ = index.rank(index.term_rows(text_words(query)), self.k)
        documents = [[word for word in index.words_of(target) if word.isalpha()] for target in targets.tolist()]
        # Sorted, so that comparing numbers compares spellings.
        allowed = _allowed(sorted(set().union(*documents)), self.sensitive(query))
        if not allowed:
            return []
        number = {word: i for i, word in enumerate(allowed)}
        sequences = [[number.get(word, -1) for word in document] for document in documents]
        if self.mode == "window":
            candidates = window_queries(sequences, self.window)
        else:
            candidates = term_sets(sequences, self.window, self.max_terms)
        term_of = index.term_rows(allowed)
        scores = self._scores(index, term_of, candidates, targets)
        kept = np.flatnonzero(scores > -np.inf)
        order = np.lexsort((*_as_tuples(candidates[kept]).T[::-1], -scores[kept]))[:n]
        return [" ".join(allowed[i] for i in candidates[row] if i >= 0) for row in kept[order]]

    def _scores(self, index: SmallIndex, term_of: Table, candidates: Table, targets: Table) -> Floats:
        """Return the score of each candidate; minus infinity where it is out of the question."""
        used = candidates >= 0
        starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        ranks, matched = index.rank_targets(term_of[candidates[used]], starts, targets)
        hits = ((ranks >= 0) & (ranks < _KEY_TOP)).sum(axis=1)
        scores: Floats
        if self.select == "pmi":
            with np.errstate(divide="ignore"):
                scores = np.log(hits * len(index) / (matched * len(targets)))
        else:
            in_depth = (ranks >= 0) & (ranks < self.depth)
            gains = np.where(in_depth, 1 / np.log2(np.maximum(ranks, 0) + 2.0), 0.0)
            ideal = (1 / np.log2(np.arange(min(len(targets), self.depth)) + 2.0)).sum()
            # Sorted before they are added: the same ranks must give the same sum, in any order.
            scores = np.sort(gains, axis=1).sum(axis=1) / ideal
        if self.keyqueries:
            qualified = (hits >= _KEY_HITS) & (matched >= _KEY_RESULTS)
            scores[~_minimal(candidates, qualified)] = -np.inf
        return scores


def local_index(collection: object) -> SmallIndex:
    """Return the index of a local corpus: an index as it is, else one of the (id, text) pairs.

    Index a corpus once and hand the index to every FEA that shall use it.
    """
    if isinstance(collection, SmallIndex):
        return collection
    pairs = collection.documents() if hasattr(collection, "documents") else collection
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise InputError(
            f"FEA: a local corpus is an iterable of (id, text) pairs (found {type(pairs).__name__}); "
            'give for instance [("d1", "text of the first document")].'
        )
    index = SmallIndex.build(_checked(pairs))
    if not len(index):
        raise InputError("FEA: the local corpus holds no document; leave it out to use WordNet.")
    return index


def _checked(pairs: Iterable[object]) -> Iterator[tuple[str, str]]:
    for number, pair in enumerate(pairs, 1):
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[1], str)):
            raise InputError(f"FEA: document {number} of the local corpus is not an (id, text) pair; fix or drop it.")
        yield str(pair[0]), pair[1]


def windows(tokens: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Return all runs of ``size`` consecutive tokens; the whole if it is shorter, nothing for nothing.

    >>> len(windows(range(20), 16)), windows([7, 8], 16)
    (5, [(7, 8)])
    """
    last = max(len(tokens) - size, 0)
    return [tuple(tokens[start : start + size]) for start in range(last + 1)] if tokens else []


def window_queries(sequences: Sequence[Sequence[int]], window: int) -> Table:
    """Return the distinct windows without their sensitive words (-1) and repetitions, padded with -1."""
    distinct: dict[tuple[int, ...], tuple[int, ...]] = {}
    for sequence in sequences:
        for run in windows(sequence, window):
            terms = tuple(dict.fromkeys(term for term in run if term >= 0))
            if terms:
                distinct.setdefault(tuple(sorted(terms)), terms)
    table = np.full((len(distinct), max(map(len, distinct), default=0)), -1, np.int64)
    for row, terms in zip(table, distinct.values(), strict=True):
        row[: len(terms)] = terms
    return table


def term_sets(sequences: Sequence[Sequence[int]], window: int, most: int) -> Table:
    """Return the distinct sets of 1 to ``most`` terms that stand in one window, sorted, padded with -1.

    Negative terms are sensitive: they take up their place in a window and are in no set.
    """
    window = min(window, max(map(len, sequences), default=0))
    # A set's first position and the distances of the others from it name it; no window is written out.
    # Blanks after each document keep a set from reaching into the next.
    line = np.array([t for sequence in sequences for t in (*sequence, *[-1] * (window - 1))], np.int64)
    starts = np.flatnonzero(line >= 0)
    count = len(starts) * sum(math.comb(max(window - 1, 0), size - 1) for size in range(1, most + 1))
    if count > _MOST_CANDIDATES:
        raise _TooManyCandidates(
            f"FEA: window {window} and max_terms {most} give {count:,} candidates for one query on this "
            "corpus; take a smaller window, fewer terms or shorter documents."
        )
    tables = [np.empty((0, most), np.int64)]
    for size in range(1, most + 1):
        steps = [(0, *rest) for rest in itertools.combinations(range(1, window), size - 1)]
        places = starts[:, None, None] + np.array(steps, np.int64).reshape(1, -1, size)
        sets = np.sort(line[places].reshape(-1, size), axis=1)
        sound = (sets[:, 0] >= 0) & (np.diff(sets, axis=1) > 0).all(axis=1)
        distinct = np.unique(sets[sound], axis=0)
        tables.append(np.pad(distinct, ((0, 0), (0, most - size)), constant_values=-1))
    return np.concatenate(tables)


def _as_tuples(candidates: Table) -> Table:
    """Return the candidates with their words in order and padding last: then rows compare as tuples."""
    ordered = np.sort(np.where(candidates >= 0, candidates, _PADDING), axis=1)
    return np.where(ordered < _PADDING, ordered, -1)


def _minimal(candidates: Table, qualified: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which qualified candidates contain no smaller qualified one."""
    rows = np.flatnonzero(qualified).tolist()
    sets = {i: frozenset(term for term in candidates[i].tolist() if term >= 0) for i in rows}
    distinct = set(sets.values())
    minimal = np.zeros(len(candidates), bool)
    for i, terms in sets.items():
        if len(terms) <= 5:  # few subsets: look them up; else few candidates: compare with each
            parts = (part for size in range(1, len(terms)) for part in itertools.combinations(terms, size))
            minimal[i] = not any(frozenset(part) in distinct for part in parts)
        else:
            minimal[i] = not any(other < terms for other in distinct)
    return minimal


def marked_offensive(entry: str) -> bool:
    """Return whether a dictionary's entry marks its words as slurs, insults or obscenities; examples do not count.

    >>> marked_offensive("paleface: (slang) a derogatory term for a white person")
    True
    >>> marked_offensive('offensive: causing anger or annoyance; "offensive names"')
    False
    """
    return _MARKED.search(entry.partition('; "')[0].partition(": ")[2]) is not None


def _allowed(vocabulary: list[str], sensitive: frozenset[str]) -> list[str]:
    return [
        word
        for word, stem in zip(vocabulary, stems(vocabulary), strict=True)
        if word not in sensitive and stem not in sensitive and not offensive().removes(word)
    ]


@functools.lru_cache(maxsize=4096)
def _relatives(wordnet: WordNet, word: str) -> frozenset[str]:
    """Return the words of a word's synonyms, hyponyms and hypernyms (the latter two of nouns), all senses."""
    names: list[str] = []
    for synset in wordnet.synsets(word):
        names += synset.lemmas
        if synset.pos == "n":
            for near in wordnet.related(synset, "hypernym", "instance_hypernym", "hyponym", "instance_hyponym"):
                names += near.lemmas
    return frozenset(text_words(" ".join(names).replace("_", " ")))


@functools.lru_cache(maxsize=2)
def _dictionary_index(wordnet: WordNet) -> SmallIndex:
    # By a rule that is public and blind to the query. The words of an entry of slurs would else be sent together, the
    # harmless ones ("queen", "mick") in the one sense in which they are not.
    return SmallIndex.build(entry for entry in wordnet.entries() if not marked_offensive(entry[1]))
