"""Words: the one stop-word list, stems, a small tagger, and how a text is divided into words.

Nothing heavy is imported here; the stemmer and the compiler come in when they are first used.
"""

import re
from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quipukit.text import key
from quipukit.wordnet.database import WordNet

Tag = Literal["n", "v", "a", "r", "closed", "unknown"]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

# The closed classes: few words, and fixed. Without them WordNet calls "a", "are" and "who" nouns (vitamin A, a
# hundred square meters, the health organization). "us" is left out deliberately: in queries it is the country.
_CLOSED = {
    "articles and determiners": "a an the this that these those each every either neither some any no all both",
    "pronouns": "i me my mine myself you your yours yourself he him his himself she her hers herself it its "
    "itself we our ours ourselves they them their theirs themselves someone anyone something anything",
    "auxiliaries": "am is are was were be been being do does did doing have has had having can could may "
    "might must shall should will would ought",
    "prepositions": "about above across after against along among around at before behind below beside "
    "between beyond by down during for from in inside into near of off on onto out outside over per since "
    "through throughout to toward towards under until up upon via with within without",
    "conjunctions": "and or but nor if because as than though although while unless whether",
    "question words": "what which who whom whose when where why how",
    "negation and existence": "not there",
    # What an apostrophe leaves behind, and how people type it without one.
    "clitics": "s t d m ll re ve dont doesnt didnt isnt cant im ive whats",
}
_ADVERBS = "again also ever here just more most much many only other own same so such then too very"

CLOSED_CLASS: frozenset[str] = frozenset(" ".join(_CLOSED.values()).split())
STOP_WORDS: frozenset[str] = CLOSED_CLASS | frozenset(_ADVERBS.split())

_RUN = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_CLITIC = re.compile(r"'(?:s|d|m|ll|re|ve)$")


def is_closed(word: str) -> bool:
    """Return whether a word belongs to a closed class; contractions count ("don't", "who'll").

    >>> is_closed("who'll"), is_closed("don't"), is_closed("crime")
    (True, True, False)
    """
    word = word.replace("\u2019", "'")
    return word in CLOSED_CLASS or word.endswith("n't") or _CLITIC.sub("", word) in CLOSED_CLASS


def is_stop_word(word: str) -> bool:
    """Return whether a word is on the stop-word list, contractions included."""
    return word in STOP_WORDS or is_closed(word)


def stems(words: Iterable[str]) -> list[str]:
    """Return the stems of words by the English Snowball rules (Porter 2).

    >>> stems(["tumours", "growing"])
    ['tumour', 'grow']
    """
    import Stemmer

    # A stemmer must not be shared between threads, and a new one costs half a microsecond.
    stemmed: list[str] = Stemmer.Stemmer("english", 0).stemWords(list(words))
    return stemmed


def stem(word: str) -> str:
    """Return the stem of one word."""
    return stems([word])[0]


def tag(word: str, wordnet: WordNet) -> Tag:
    """Return a word's part of speech without looking at its neighbors.

    Closed classes come first, then the most frequent WordNet part of speech of the word's base form by the
    tag counts of ``index.sense``. A word that WordNet lacks is ``unknown``.

    >>> from quipukit.wordnet.database import load_wordnet
    >>> [tag(word, load_wordnet()) for word in ("who", "are", "tumours", "growing", "bluetooth")]
    ['closed', 'closed', 'n', 'v', 'unknown']
    """
    if is_closed(word):
        return "closed"
    return wordnet.most_frequent_pos(word) or "unknown"


def text_words(text: str, skip_stop_words: bool = True) -> list[str]:
    """Return the words of a text: runs of letters and digits in lower case, by default without stop words.

    A possessive 's is cut, any other apostrophe is closed up, and hyphens divide.

    >>> text_words("The company's T-bone, at 9 o'clock: don't wait")
    ['company', 'bone', '9', 'oclock', 'wait']
    """
    return [word for run in runs_of(text) if (word := cleaned_word(run, skip_stop_words))]


def content_words(text: str) -> list[str]:
    """Return the words of a text that consist of letters only, without stop words.

    >>> content_words("The 20 covid-19 tests of 2021, the B12 of a bee")
    ['covid', 'tests', 'bee']
    """
    return [word for word in text_words(text) if word.isalpha()]


def runs_of(text: str) -> list[str]:
    # Lower-casing is all that key() does to ASCII runs, at a tenth of its price.
    folded = text.lower() if text.isascii() else key(text).replace("\u2019", "'")
    return _RUN.findall(folded)


def cleaned_word(run: str, skip_stop_words: bool = True) -> str:
    """Return the word in a run of letters, digits and apostrophes; empty for a stop word that is to be skipped."""
    if "'" in run:
        if skip_stop_words and is_closed(run):
            return ""
        run = run.removesuffix("'s").replace("'", "")
    return "" if skip_stop_words and run in STOP_WORDS else run
