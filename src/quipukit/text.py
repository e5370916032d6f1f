"""The identity of a query and its division into tokens, each defined once."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal

Tokenizer = Literal["clean", "peer"]

_POSSESSIVE = re.compile(r"^(.+)['\u2019]s?$")
_APOSTROPHES = re.compile(r"['\u2019]")
_JOINTS = re.compile(r"[-\u2010-\u2014/]+")


def key(text: str) -> str:
    """Return the identity of a query: two texts are the same query if and only if their keys are equal.

    NFKC, case-fold, collapse white space, strip.

    >>> key("  How  TUMOUR\\tgrows ") == key("how tumour grows")
    True
    """
    # Case folding can undo the normal form (U+0345 among others), so normalise once more after it;
    # without that, key(key(text)) could differ from key(text).
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def tokenise(text: str, known: Callable[[str], bool] | None = None, tokenizer: Tokenizer = "clean") -> list[str]:
    """Divide a query into tokens.

    ``clean`` (the default) takes the key, splits at white space, strips punctuation at both ends and a
    possessive 's. A token that ``known`` rejects is tried without its apostrophes, then split at hyphens and
    slashes if every part is known. ``peer`` is lower-casing and splitting, as the published queries were made:
    punctuation stays glued to its word.

    >>> tokenise("What's the company's (best) land?")
    ['what', 'the', 'company', 'best', 'land']
    >>> tokenise("well-known sorts", known={"well", "known", "sorts"}.__contains__)
    ['well', 'known', 'sorts']
    >>> tokenise("Best land?", tokenizer="peer")
    ['best', 'land?']
    """
    if tokenizer == "peer":
        return text.lower().split()
    return [part for piece in key(text).split() for part in _clean(piece, known)]


def _clean(piece: str, known: Callable[[str], bool] | None) -> Iterator[str]:
    word = _strip(piece)
    possessive = _POSSESSIVE.match(word)
    if possessive:
        word = _strip(possessive.group(1))
    if not word:
        return
    if known is None or known(word):
        yield word
        return
    joined = _APOSTROPHES.sub("", word)
    if joined != word and known(joined):
        yield joined
        return
    parts = [part for part in map(_strip, _JOINTS.split(word)) if part]
    if len(parts) > 1 and all(map(known, parts)):
        yield from parts
    else:
        yield word


def _strip(word: str) -> str:
    start, end = 0, len(word)
    while start < end and _is_punctuation(word[start]):
        start += 1
    while end > start and _is_punctuation(word[end - 1]):
        end -= 1
    return word[start:end]


def _is_punctuation(character: str) -> bool:
    # Symbols go too: "$100" and "c++" would otherwise be unknown to every vocabulary of words.
    return unicodedata.category(character)[0] in "PSCZ"
