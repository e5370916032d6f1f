"""What engines answer, made safe: ids, scores, and the title, snippet and address of a document."""

import math
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

from quipukit.retrieval.base import Ranking, Shown

Hit = tuple[str, float] | tuple[str, float, Shown]
Hits = list[Hit]

_TITLE, _SNIPPET, _URL = 300, 1000, 2000  # characters
_SHORT_TITLE, _SHORT_SNIPPET = 80, 300  # of a document that is nothing but a text
_TEXTS = ("snippet", "contents", "text", "passage", "segment", "body")  # where documents keep what they say


def ranking(hits: Iterable[Hit], depth: int, shows: bool = False) -> Ranking:
    """Order hits by score, ties by docno, each document once, and cut at the depth; ``shows`` keeps what is shown.

    >>> ranking([("a", 1.0), ("b", 2.0), ("a", 1.5)], 5).docnos
    ['b', 'a']
    """
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit[1], hit[0])):
        best.setdefault(hit[0], hit)
    kept = dict(list(best.items())[:depth])
    shown = {docno: hit[2] for docno, hit in kept.items() if len(hit) == 3 and hit[2] != Shown()} if shows else {}
    return Ranking(list(kept), np.array([hit[1] for hit in kept.values()], np.float64), shown)


def docno_of(value: Any) -> str:
    """Return a document's id, or raise ValueError where there is none.

    Halves of surrogate pairs, which JSON can hold and no file of text can, become question marks.
    """
    if isinstance(value, list) and len(value) == 1:  # a field that may hold several values
        value = value[0]
    if not isinstance(value, (str, int)) or value == "":
        raise ValueError("an id is neither text nor a number")
    return str(value).encode("utf-8", "replace").decode()


def score_of(value: Any) -> float:
    """Return a score, or raise ValueError where it is no number."""
    score = float(value)
    if not math.isfinite(score):
        raise ValueError("a score is not a number")
    return score


def shown_fields(title: Any = "", snippet: Any = "", url: Any = "") -> Shown:
    """Return what an engine shows of a document, whatever it is: short texts, and an address that a browser may open.

    >>> shown_fields("A  title", ["first", "second"], "javascript:alert(1)")
    Shown(title='A title', snippet='first second', url='')
    """
    address = _plain(url)
    web = address.casefold().startswith(("http://", "https://")) and len(address) <= _URL and " " not in address
    return Shown(_cut(_plain(title), _TITLE), _cut(_plain(snippet), _SNIPPET), address if web else "")


def shown_document(document: Any) -> Shown:
    """Return what is shown of a document as a collection stores it: a text, or fields of which some have usual names.

    >>> shown_document("gonorrhea, clap: a common venereal disease")
    Shown(title='gonorrhea, clap', snippet='a common venereal disease', url='')
    >>> shown_document({"title": "Zoo", "contents": "Animals."})
    Shown(title='Zoo', snippet='Animals.', url='')
    """
    if isinstance(document, dict):
        text = next((document[name] for name in _TEXTS if document.get(name)), "")
        if not document.get("title"):
            short = shown_document(_plain(text))
            return shown_fields(short.title, short.snippet, document.get("url"))
        return shown_fields(document["title"], _cut(_plain(text), _SHORT_SNIPPET), document.get("url"))
    text = _plain(document)
    head, colon, rest = text.partition(": ")
    if not colon or len(head) > _SHORT_TITLE:
        head, rest = _cut(text, _SHORT_TITLE), text
    return Shown(head, _cut(rest, _SHORT_SNIPPET))


def _plain(value: Any) -> str:
    """Return a value as one line of text; what is neither a text nor a list of texts says nothing."""
    if isinstance(value, list):
        value = " ".join(part for part in value[:8] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value[: 4 * _SNIPPET]
    # Control characters and halves of surrogates are of no use to a reader, and dangerous in a terminal.
    clean = "".join(" " if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") else one for one in value)
    return " ".join(clean.split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rsplit(" ", 1)[0] + "…"
