"""Word filters: public lists of words to remove from a vocabulary, for any query.

A filter is fixed before any query is seen. So it only makes the set of possible outputs smaller, and every guarantee
holds over what is left; a list made from the queries would break that.

One word per line; letters may be upper or lower case. ``*`` at the start or the end of a word stands for any letters.
Lines that begin with ``#`` and empty lines say nothing. Of words joined by hyphens, each one counts.
"""

import codecs
import functools
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from quipukit.errors import FileError
from quipukit.text import key

OFFENSIVE = "offensive"
_SHORTEST = 3  # letters beside a "*": fewer would take half the vocabulary away
_JOINTS = re.compile(r"[\s_-]+")


@dataclass(frozen=True)
class WordFilter:
    """Words to remove, and patterns of such words.

    >>> pets = WordFilter.of("pets", ["Cat", "dog*"])
    >>> [word for word in ("cat", "Cat", "cats", "doggy", "lap-dog", "concat") if pets.removes(word)]
    ['cat', 'Cat', 'doggy', 'lap-dog']
    """

    name: str
    words: frozenset[str]
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, name: str, lines: Iterable[str]) -> "WordFilter":
        """Return the filter of some lines; ``name`` says where they come from."""
        words: set[str] = set()
        patterns: set[str] = set()
        for number, line in enumerate(lines, 1):
            word = key(line)
            if not word or word.startswith("#"):
                continue
            letters = word.strip("*")
            if "*" not in word:
                words.add(word)
            elif "*" in letters or len(letters) < _SHORTEST:
                raise FileError(
                    f"{name}, line {number}: '*' may stand at the start or the end of a word of at least "
                    f"{_SHORTEST} letters; write the words out."
                )
            else:
                start, end = "" if word[0] == "*" else "^", "" if word[-1] == "*" else "$"
                patterns.add(f"{start}{re.escape(letters)}{end}")
        if not words and not patterns:
            raise FileError(f"{name} holds no word to remove; write one word per line.")
        nothing = r"(?!)"  # matches no text
        return cls(name, frozenset(words), re.compile("|".join(sorted(patterns)) or nothing))

    @property
    def fingerprint(self) -> str:
        """Return a hash over what the filter removes."""
        return hashlib.sha256("\n".join([*sorted(self.words), "", self.pattern.pattern]).encode()).hexdigest()

    def removes(self, word: str) -> bool:
        """Return whether a word, or one of the words that it is joined of, is to be removed."""
        folded = word if word.isascii() and word.islower() else key(word)
        return any(map(self.has, {folded, *self.parts(folded)}))

    def has(self, part: str) -> bool:
        """Return whether one folded word is to be removed, whatever it is joined of."""
        return part in self.words or self.pattern.search(part) is not None

    @staticmethod
    def parts(folded: str) -> list[str]:
        """Return the words that a folded one is joined of."""
        return _JOINTS.split(folded)


def word_filter(source: str | os.PathLike[str]) -> WordFilter:
    """Return a filter: ``"offensive"``, the built-in list of slurs and obscenities, or a file's own words."""
    if source == OFFENSIVE:
        return offensive()
    path = Path(source).expanduser()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not UTF-8; convert it, for instance with iconv.") from None
    except OSError:
        raise FileError(
            f"there is no vocabulary filter {str(source)!r}: it is neither {OFFENSIVE!r} nor a file with one word "
            "per line."
        ) from None
    return WordFilter.of(path.name, text.split("\n"))


@functools.cache
def offensive() -> WordFilter:
    """Return the built-in filter: slurs and obscenities, but not the plain words for body, sex or crime."""
    text = files("quipukit.vectors").joinpath("offensive.txt").read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    return WordFilter.of(OFFENSIVE, codecs.decode("\n".join(lines), "rot13").split("\n"))
