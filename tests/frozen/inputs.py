"""Fixed input: fifty-six made-up documents, seven queries, a log of ninety, word vectors, and an encoder of words.

Nothing here may change: every digest depends on it. It is kept apart from the other tests' input for that reason.
"""

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quipukit.encoders.base import Encoder

_TOPIC_WORDS = {
    "railway": "train platform ticket whistle signal tunnel guard carriage bridge engine",
    "orchard": "apple ladder basket bee blossom frost pear root autumn cider",
    "clinic": "doctor fever nurse pulse cough bandage tablet patient sleep remedy",
    "theatre": "actor curtain stage ticket mask rehearsal applause script lamp voice",
    "river": "boat bridge current heron mud reed flood ferry stone bank",
    "market": "price stall fish bread onion crowd scale coin basket cheese",
    # Words of no dictionary: heuristics that look words up have nothing to send.
    "planet": "vorbin taskel imbrolo quenty drassel zomfit laggor pwemble ustrin koffaly",
}

QUERIES = {
    "r1": "why did the night train stop on the old bridge",
    "o2": "frost damage on apple blossom",
    "c3": "what's a home remedy for fever and cough?",
    "t4": "actor forgets the script in rehearsal",
    "v5": "ferry timetable after the flood grelkin",  # "timetable" and "grelkin" have no vector
    "m6": "Bread, cheese & onion price",
    "p7": "vorbin taskel",
}

# For functions that take any text: empty ones, marks, other scripts, accents and capitals among them.
ODD_QUERIES = {
    **QUERIES,
    "empty": "",
    "blank": " \t ",
    "marks": "?! ...",
    "script": "заявление развод",
    "accents": "Café au lait NAÏVE",
}


def documents() -> dict[str, str]:
    """Return eight documents of each topic."""
    found = {}
    for topic, words in _TOPIC_WORDS.items():
        word = words.split()
        for number in range(8):
            first, second, third = (word[(number * step + shift) % 10] for step, shift in ((1, 0), (3, 4), (7, 2)))
            found[f"{topic}-{number}"] = (
                f"at the {topic} the {first} came after the {second}; a {third} and another {first} on day {number}"
            )
    return found


def log_queries() -> list[str]:
    """Return what others asked: ninety queries, three of ours among them and some of them twice."""
    words = [line.split() for line in _TOPIC_WORDS.values()]
    made = [
        f"{word[i % 10]} {('and', 'or', 'after')[i % 3]} {word[(i * 3 + 1) % 10]}" for i in range(12) for word in words
    ]
    ours = [QUERIES["o2"], QUERIES["m6"].lower(), QUERIES["p7"]]
    return [*made, *ours, *made[:3]]


def qrels() -> pd.DataFrame:
    """Return judgements of two grades, with documents that are not relevant among them; "p7" has none."""
    rows = [
        (qid, f"{topic}-{number}", grade)
        for qid, topic in zip([*QUERIES][:6], [*_TOPIC_WORDS][:6], strict=True)
        for number, grade in ((0, 2), (1, 1), (3, 1), (4, 0), (6, 1))
    ]
    return pd.DataFrame(rows, columns=["qid", "docno", "relevance"])


def vocabulary() -> list[str]:
    """Return the words that have a vector."""
    text = " ".join([*documents().values(), *QUERIES.values()]).lower()
    words = (word.strip(";,?&").removesuffix("'s") for word in text.split())
    return [word for word in dict.fromkeys(words) if word and word not in ("timetable", "grelkin")]


def write_vectors(path: Path) -> None:
    """Write random vectors whose neighbours are about 1 apart: epsilon 5 changes many words and leaves some."""
    words = vocabulary()
    matrix = np.random.default_rng(5).normal(size=(len(words), 8)).round(3)
    _write(path, (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, matrix, strict=True)))


def write_collection(folder: Path, judged: bool = True) -> Path:
    """Write documents, topics, judgements, log and vectors to a folder."""
    folder.mkdir(parents=True)
    _write(folder / "docs.tsv", (f"{docno}\t{text}" for docno, text in documents().items()))
    _write(folder / "topics.tsv", (f"{qid}\t{text}" for qid, text in QUERIES.items()))
    if judged:
        _write(folder / "qrels.txt", (f"{qid} 0 {docno} {grade}" for qid, docno, grade in qrels().to_numpy()))
    _write(folder / "log.txt", log_queries())
    write_vectors(folder / "vectors.txt")
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class WordEncoder(Encoder):
    """The mean of random word vectors, hashed from the words: no model, the same on every machine."""

    dimension = 96

    def __init__(self, name: str = "frozen-attacker") -> None:
        self.name, self.fingerprint = name, f"{name}-1"

    def pieces(self, texts: Sequence[str], kind: str) -> Iterator[Any]:
        rows = [np.mean([_word_vector(word) for word in text.lower().split() or [""]], axis=0) for text in texts]
        yield np.arange(len(texts)), np.array(rows, np.float32)


@functools.cache
def _word_vector(word: str) -> Any:
    return np.random.default_rng(list(hashlib.sha256(word.encode()).digest())).standard_normal(WordEncoder.dimension)


class UserEncoder(WordEncoder):
    """The model with which the user re-ranks."""

    def __init__(self) -> None:
        super().__init__("frozen-user")


class SearchEncoder(WordEncoder):
    """The model of the dense search system."""

    def __init__(self) -> None:
        super().__init__("frozen-search")


class SimilarityEncoder(WordEncoder):
    """The model by which sentence similarity is defined; it stands in for MiniLM."""

    def __init__(self) -> None:
        super().__init__("frozen-similarity")
