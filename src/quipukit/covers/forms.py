"""How queries are written, their subject aside: how long they are, whether they ask, how they are spelled."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quipukit.text import key, tokenize

QUESTIONS = [
    *("what", "who", "whom", "whose", "where", "when", "why", "which", "how", "is", "are", "was", "were", "do", "does"),
    *("did", "can", "could", "should", "would", "will", "define"),
]
SMALL = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "of",
            "in",
            "on",
            "at",
            "to",
            "for",
            "from",
            "by",
            "with",
            "and",
            "or",
            "is",
            "are",
            "was",
            "were",
            "be",
        ),
        *(
            "do",
            "does",
            "did",
            "can",
            "has",
            "have",
            "it",
            "its",
            "i",
            "my",
            "you",
            "your",
            "he",
            "she",
            "they",
            "we",
            "this",
            "that",
            "there",
            "as",
            "not",
            "if",
            "than",
        ),
    )
)
_LONGEST = 12
_KINDS = 5  # keywords, question word, yes-or-no, how, "define" and the like
WIDTH = _KINDS + 5
_KIND = {"how": 3, "define": 4, "definition": 4, "meaning": 4}
_YES_NO = frozenset(QUESTIONS[9:21])


def forms(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return the form of every query: numbers of order 1, so that two queries of one form are near each other.

    >>> one, two, three = forms(["what is a cat", "what is the sun", "cat food"])
    >>> bool(((one - two) ** 2).sum() < ((one - three) ** 2).sum())
    True
    """
    described = np.zeros((len(texts), WIDTH), np.float32)
    for row, text in enumerate(map(key, texts)):
        words = tokenize(text)
        count = len(words)
        described[row, _kind(words)] = 1
        described[row, _KINDS:] = (
            np.log1p(min(count, _LONGEST)) / np.log1p(_LONGEST) * 2,
            sum(word in SMALL for word in words) / max(1, count),
            sum(map(len, words)) / max(1, count) / 10,
            not text.isascii() or any(map(str.isdigit, text)),
            text.endswith("?") or "," in text or "." in text,
        )
    return described


def _kind(words: Sequence[str]) -> int:
    if not words:
        return 0
    first = words[0]
    return _KIND.get(first, 2 if first in _YES_NO else 1 if first in QUESTIONS else 0)
