"""AEA (also AED): scrambling a query along WordNet's relations."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from quipukit.errors import SpecError
from quipukit.guarantees import Guarantee, NoGuarantee
from quipukit.lexical import is_stop_word
from quipukit.mechanisms.base import QueryMechanism, Variants, check_choice, check_flag, check_whole
from quipukit.registry import HidesMore
from quipukit.text import TOKENIZERS, current_tokenizer, key, tokenize
from quipukit.vectors.wordfilter import offensive
from quipukit.wordnet.database import POS, Relation, Synset, WordNet, load_wordnet

_UP: tuple[Relation, ...] = (
    "hypernym",
    "instance_hypernym",
    "member_holonym",
    "part_holonym",
    "substance_holonym",
)
_PARTS = re.compile(r"[\s\-/]+")
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_LONGEST = 4  # words of a query that one candidate may hold, written as one


@dataclass(frozen=True, kw_only=True)
class AEA(QueryMechanism):
    """Replace each word by a relative in WordNet: a synonym, or something wider up to ``level`` steps away.

    The candidates of a noun or verb are the words of all synsets within ``level`` edges of its first
    ``senses`` senses, where an edge leads to a hypernym, an instance's class, or a whole (member, part,
    substance holonym); those of an adjective or adverb are its synonyms and the words of similar synsets.
    They are ranked by (depth, sense, spelling). The variants are drawn uniformly without replacement from
    the Cartesian product over the words, which is indexed and never written out; where it holds fewer than
    n texts, all of them come, in random order. Variant i takes one step of a shuffle with its own
    generator, so the first n do not depend on N.

    No word of the query but stop words is sent, alone or inside a longer candidate, nor written otherwise
    ("baby-sitter" and "baby sitter" for "babysitter": case, blanks and punctuation do not count), nor inflected
    ("sable's hair pencil" for "sable", "sneezing" for "sneeze"). ``include_original=True`` lets a word stand for
    itself, but never the whole query. No slur or obscenity is sent either. The stop words of the query are dropped, or
    sent with ``keep_stopwords=True``; a candidate may hold some of its own ("period of time" for "season"). A word
    without candidates is dropped; ``oov="keep"`` sends it, and is refused without ``unsafe=True``.

    Guarantee: none. The candidates are relatives of the word, so their set all but names it.

    Reference: Arampatzis, Efraimidis, Drosatos. A query scrambler for search privacy on the internet.
    Information Retrieval 16(6), 2013. The paper leaves the details open; the algorithm is this package's.

    >>> AEA(level=3).candidates("crime")[:5]
    ('criminal offence', 'criminal offense', 'law-breaking', 'offence', 'offense')
    """

    name: ClassVar[str] = "AEA"
    summary: ClassVar[str] = "a WordNet relative for each word: synonyms, hypernyms, wholes"
    strategy: ClassVar[str] = "heuristic"
    reference: ClassVar[str] = "Arampatzis et al., Information Retrieval 16(6), 2013"
    parameter: ClassVar[str] = "level"
    grid: ClassVar[tuple[float, ...]] = (3.0, 4.0, 5.0)
    default: ClassVar[float | None] = 3.0
    hides_more: ClassVar[HidesMore] = "larger"  # measured: see docs/protocol.md

    level: int
    senses: int | str = 1
    include_original: bool = False
    keep_stopwords: bool = False
    oov: str = "drop"
    tokenizer: str = "clean"
    unsafe: bool = False
    wordnet: WordNet = field(default=None, repr=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", check_whole(self.name, "level", self.level, 0, 20))
        if self.senses != "all":
            if isinstance(self.senses, str):
                raise SpecError(f"AEA: senses must be a whole number or 'all' (found {self.senses!r}).")
            object.__setattr__(self, "senses", check_whole(self.name, "senses", self.senses, 1))
        check_flag(self.name, "include_original", self.include_original)
        check_flag(self.name, "keep_stopwords", self.keep_stopwords)
        check_flag(self.name, "unsafe", self.unsafe)
        check_choice(self.name, "oov", self.oov, ("drop", "keep"))
        object.__setattr__(self, "tokenizer", current_tokenizer(self.tokenizer))
        check_choice(self.name, "tokenizer", self.tokenizer, TOKENIZERS)
        if self.oov == "keep" and not self.unsafe:
            raise SpecError("AEA: oov='keep' sends unknown words verbatim; add unsafe=True if that is what you want.")
        if self.wordnet is None:
            object.__setattr__(self, "wordnet", load_wordnet())

    @property
    def guarantee(self) -> Guarantee:
        if self.oov == "keep":
            return NoGuarantee("words that WordNet lacks are sent verbatim (oov='keep')")
        return NoGuarantee("every word is replaced by one of its few relatives, which all but name it")

    def candidates(self, word: str) -> tuple[str, ...]:
        """Return what can replace a word, the nearest first; nothing for a stop word or an unknown word."""
        return self._without(_relatives(self.wordnet, word, self.level, self._senses), self._forms([word]))

    def variants(self, query: str, n: int, rngs: Callable[[int], np.random.Generator]) -> Variants:
        tokens = tokenize(query, self._known, self.tokenizer)  # type: ignore[arg-type]
        if not tokens:
            return Variants([""] * n, {"empty": 1})
        flags: dict[str, int] = {}
        choices: list[tuple[str, ...]] = []
        replaced = 0
        forms = self._forms([token for token in tokens if not is_stop_word(token)])
        for token in tokens:
            if is_stop_word(token):
                if self.keep_stopwords:
                    choices.append((token,))
                continue
            relatives = self._without(_relatives(self.wordnet, token, self.level, self._senses), forms)
            if relatives:
                replaced += 1
                choices.append((token, *relatives) if self.include_original else relatives)
            else:
                flags["oov"] = flags.get("oov", 0) + 1
                if self.oov == "keep":
                    choices.append((token,))
        verbatim = self.oov == "keep"
        texts: list[str] = []
        if replaced or verbatim:
            banned = set() if verbatim else {_letters(query), _letters(" ".join(tokens))}
            texts = _draw(choices, n, rngs, banned)
        if not texts:
            flags["no_obfuscation"] = 1
        elif len(texts) < n:
            flags["fewer"] = n - len(texts)
        return Variants(texts, flags)

    @property
    def _senses(self) -> int | None:
        return None if isinstance(self.senses, str) else self.senses

    def _known(self, word: str) -> bool:
        return is_stop_word(word) or any(self.wordnet.base_forms(word, pos) for pos in POS)

    def _forms(self, words: Sequence[str]) -> frozenset[str]:
        """Return the letters of what must not be sent: the words, their base forms, and neighbors written as one."""
        if self.include_original:
            return frozenset(words)
        runs = {"".join(words[start : start + size]) for size in range(1, _LONGEST + 1) for start in range(len(words))}
        forms = runs.union(*(self.wordnet.base_forms(word, pos) for word in set(words) for pos in POS))
        return frozenset(map(_letters, forms)) - {""}

    def _without(self, candidates: tuple[str, ...], forms: frozenset[str]) -> tuple[str, ...]:
        """Leave out the candidates that hold one of the forms: alone, inside, written otherwise or inflected."""
        if self.include_original:
            return tuple(candidate for candidate in candidates if candidate not in forms)
        return tuple(candidate for candidate in candidates if forms.isdisjoint(_runs(self.wordnet, candidate)))


def _letters(text: str) -> str:
    """Return the letters and digits of a text: what two spellings of one word have in common."""
    return "".join(filter(str.isalnum, key(text)))


@functools.lru_cache(maxsize=65536)
def _runs(wordnet: WordNet, candidate: str) -> frozenset[str]:
    """Return every run of a candidate's parts, with and without their possessive endings, and their base forms.

    >>> sorted(_runs(load_wordnet(), "sitter's jobs"))
    ['job', 'jobs', 'sitter', 'sitterjobs', 'sitters', 'sittersjobs']
    """
    written = _PARTS.split(candidate)
    bare = [_POSSESSIVE.sub("", part) for part in written]
    runs = {
        "".join(parts[start:stop])
        for parts in (written, bare)
        for start in range(len(parts))
        for stop in range(start + 1, len(parts) + 1)
    }
    return frozenset(map(_letters, runs.union(*(wordnet.base_forms(part, pos) for part in bare for pos in POS))))


@functools.lru_cache(maxsize=4096)
def _relatives(wordnet: WordNet, word: str, level: int, senses: int | None) -> tuple[str, ...]:
    """Return the words around a word by (depth, sense, spelling); the word itself may be among them."""
    pos = None if is_stop_word(word) else wordnet.most_frequent_pos(word)
    if pos is None:
        return ()
    best: dict[str, tuple[int, int]] = {}
    for sense, synset in enumerate(wordnet.synsets(word, pos)[:senses]):
        for depth, ring in enumerate(_rings(wordnet, synset, level)):
            for lemma in (lemma for reached in ring for lemma in reached.lemmas):
                name = lemma.replace("_", " ").lower()
                if not offensive().removes(name):
                    best[name] = min(best.get(name, (depth, sense)), (depth, sense))
    return tuple(sorted(best, key=lambda name: (best[name], name)))


def _rings(wordnet: WordNet, start: Synset, level: int) -> list[list[Synset]]:
    """Return the synsets at each distance from a synset, by breadth-first search."""
    # Adjectives and adverbs have nothing above them; what is similar is one step away, further steps drift.
    relations, steps = (_UP, level) if start.pos in "nv" else (("similar",), min(level, 1))
    seen = {start.id}
    rings = [[start]]
    for _ in range(steps):
        ring = {
            reached.id: reached
            for synset in rings[-1]
            for reached in wordnet.related(synset, *relations)
            if reached.id not in seen
        }
        if not ring:
            break
        seen |= ring.keys()
        rings.append(list(ring.values()))
    return rings


def _draw(
    choices: Sequence[tuple[str, ...]],
    n: int,
    rngs: Callable[[int], np.random.Generator],
    banned: set[str],
) -> list[str]:
    """Draw distinct texts from a Cartesian product, uniformly and without replacement.

    This is the shuffle of Fisher and Yates over the numbers below the product's size, of which only the
    swapped ones are stored. Texts that two combinations share, and those with banned letters, are passed over.
    """
    total = math.prod(len(choice) for choice in choices)
    swapped: dict[int, int] = {}
    seen: set[str] = set()
    texts: list[str] = []
    step = 0
    for variant in range(n):
        if step == total:
            break
        rng = rngs(variant)
        while step < total:
            at = step + _below(rng, total - step)
            number = swapped.get(at, at)
            swapped[at] = swapped.pop(step, step)
            step += 1
            text = _combination(choices, number)
            if text not in seen and _letters(text) not in banned:
                seen.add(text)
                texts.append(text)
                break
    return texts


def _combination(choices: Sequence[tuple[str, ...]], number: int) -> str:
    """Return the text with a number: its digits in the mixed radix of the choices pick one of each."""
    picked: list[str] = []
    for choice in choices:
        number, digit = divmod(number, len(choice))
        picked.append(choice[digit])
    return " ".join(picked)


def _below(rng: np.random.Generator, bound: int) -> int:
    """Return a uniform whole number in [0, bound) for a bound of any size, by rejection."""
    bits = (bound - 1).bit_length()
    while True:
        number = int.from_bytes(rng.bytes((bits + 7) // 8), "little") & ((1 << bits) - 1)
        if number < bound:
            return number
