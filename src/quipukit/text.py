"""The identity of a query and its division into tokens, each defined once."""

import functools
import itertools
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from quipukit.deprecation import warn_deprecated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Tokenizer = Literal["clean", "whitespace"]
TOKENIZERS = get_args(Tokenizer)

_POSSESSIVE = re.compile(r"^(.+)['\u2019]s?$")
_APOSTROPHES = re.compile(r"['\u2019]")
_JOINTS = re.compile(r"[-\u2010-\u2014/]+")
# Characters that are drawn as nothing although Unicode calls them letters or marks: joiners, fillers, and the variation
# selectors that follow an emoji.
_INVISIBLE = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0))
).union(map(chr, range(0xE0100, 0xE01F0)))
_ACCENT_CLASS = 200  # from here on combining classes are marks above and below a letter; below, parts of a script


def key(text: str) -> str:
    """Return the identity of a query: two texts are the same query if and only if their keys are equal.

    NFKC, case-fold, collapse white space, strip.

    >>> key("  How  TUMOR\\tgrows ") == key("how tumor grows")
    True
    """
    if text.isascii():  # most queries: nothing to normalize, and folding is lower-casing
        return " ".join(text.lower().split())
    # Case folding can undo the normal form (U+0345 among others), so normalize once more after it;
    # without that, key(key(text)) could differ from key(text).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


class PackedTexts(Sequence[str], ABC):
    """Many texts that lie somewhere in UTF-8, one after the other: no text need become an object of Python."""

    @abstractmethod
    def packed(self, rows: "NDArray[np.int64] | None" = None) -> "tuple[bytes, NDArray[np.int64]]":
        """Return texts, all or those of some rows, one after the other, and the number of bytes of each."""

    @property
    @abstractmethod
    def sizes(self) -> "NDArray[np.int64]":
        """Return the number of bytes of each text."""


def joined(texts: Sequence[str]) -> "tuple[bytes, Sequence[int] | NDArray[np.int64]]":
    """Return texts in UTF-8, one after the other, and the number of bytes of each."""
    if isinstance(texts, PackedTexts):
        return texts.packed()
    content = "".join(texts).encode("utf-8", "surrogatepass")
    if content.isascii():  # then letters are bytes
        return content, list(map(len, texts))
    return content, [len(text.encode("utf-8", "surrogatepass")) for text in texts]


def divided(content: bytes, sizes: Sequence[int]) -> list[str]:
    """Return the texts that `joined` has put one after the other.

    >>> divided(*joined(["cats", "caf\u00e9", ""]))
    ['cats', 'caf\xe9', '']
    """
    ends = list(itertools.accumulate(sizes, initial=0))
    if content.isascii():
        letters = content.decode("ascii")
        return [letters[begin:end] for begin, end in itertools.pairwise(ends)]
    return [content[begin:end].decode("utf-8", "surrogatepass") for begin, end in itertools.pairwise(ends)]


def tokenize(text: str, known: Callable[[str], bool] | None = None, tokenizer: Tokenizer = "clean") -> list[str]:
    """Divide a query into tokens.

    ``clean`` (the default) takes the key, splits at white space, strips punctuation at both ends and a
    possessive 's. A token that ``known`` rejects is tried without its apostrophes, then split at hyphens and
    slashes if every part is known, then all of that once more without accents. Marks and invisible characters alone
    are no token. ``whitespace`` is lower-casing and splitting, as the published queries were made: punctuation stays
    glued to its word.

    >>> tokenize("What's the company's (best) land?")
    ['what', 'the', 'company', 'best', 'land']
    >>> tokenize("well-known sorts", known={"well", "known", "sorts"}.__contains__)
    ['well', 'known', 'sorts']
    >>> tokenize("caf\u00e9 na\u00efve", known={"cafe", "na\u00efve"}.__contains__)
    ['cafe', 'na\u00efve']
    >>> tokenize("Best land?", tokenizer="whitespace")
    ['best', 'land?']
    """
    if current_tokenizer(tokenizer) == "whitespace":
        return text.lower().split()
    if known is None:
        return [part for piece in key(text).split() for part in _parts(piece)]
    return [part for piece in key(text).split() for part in _clean(piece, known)]


def current_tokenizer(name: str) -> str:
    """Return the name of a tokenizer today: what is now ``whitespace`` was ``peer``."""
    if name != "peer":
        return name
    warn_deprecated("tokenizer='peer' is deprecated; write tokenizer='whitespace'.")
    return "whitespace"


@functools.lru_cache(maxsize=100_000)
def _parts(piece: str) -> tuple[str, ...]:
    """Return the words of a piece, of which a log has the same ones again and again."""
    return tuple(_clean(piece, None))


def _clean(piece: str, known: Callable[[str], bool] | None) -> Iterator[str]:
    word = _strip(piece)
    possessive = _POSSESSIVE.match(word)
    if possessive:
        word = _strip(possessive.group(1))
    if not word:
        return
    if known is None:
        yield word
        return
    for form in dict.fromkeys((word, _without_accents(word))):
        if known(form):
            yield form
            return
        joined = _APOSTROPHES.sub("", form)
        if joined != form and known(joined):
            yield joined
            return
        parts = [part for part in map(_strip, _JOINTS.split(form)) if part]
        if len(parts) > 1 and all(map(known, parts)):
            yield from parts
            return
    yield word


def _without_accents(word: str) -> str:
    if word.isascii():
        return word
    letters = (c for c in unicodedata.normalize("NFKD", word) if unicodedata.combining(c) < _ACCENT_CLASS)
    return unicodedata.normalize("NFKC", "".join(letters))


def _strip(word: str) -> str:
    if word.isascii() and word[:1].isalnum() and word[-1:].isalnum():  # nearly every word
        return word
    start, end = 0, len(word)
    # A mark belongs to the character before it: at the start, or after punctuation, it stands on nothing.
    while start < end and (_is_punctuation(word[start]) or _is_mark(word[start])):
        start += 1
    while end > start:
        if _is_punctuation(word[end - 1]):
            end -= 1
            continue
        base = end - 1
        while base > start and _is_mark(word[base]):
            base -= 1
        if not _is_punctuation(word[base]):
            break
        end = base
    return word[start:end]


def _is_punctuation(character: str) -> bool:
    # Symbols go too: "$100" and "c++" would otherwise be unknown to every vocabulary of words.
    category = unicodedata.category(character)
    return category[0] in "PSCZ" or category == "Me" or character in _INVISIBLE


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"
