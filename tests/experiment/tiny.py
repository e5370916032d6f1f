"""An experiment that takes a second: sixty made-up documents, five queries, a log of eighty, an encoder of words."""

import functools
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quipukit as qk
from quipukit.encoders.base import Encoder, Kind, Piece
from quipukit.experiment.stages import text_similarity
from quipukit.progress import ProgressListener
from quipukit.results import Result
from tests.plugin_slot import ENCODERS

SPECS = ("CMP@5", "TEM@2", "AEA@3")
# Those named, and the two references that every experiment adds.
CELLS = len(SPECS) + 2
SYSTEMS = (("bm25", "user"),)
BOTH = (*SYSTEMS, ("dense:searcher", "bm25"))

_THEMES = {
    "garden": "apple pear soil rain harvest tree worm frost blossom fence",
    "harbour": "boat captain storm island rope anchor gull salt lantern tide",
    "kitchen": "bread oven butter knife guest recipe onion table smoke spoon",
    "school": "teacher lesson chalk pupil holiday book corridor bell exam poem",
    # Words that no dictionary has: heuristics that look words up have nothing to send.
    "moon": "zorbal quintle vrassic plomber trandle oskwin fendral mubbit crelf jastor",
}
# The first has words outside the vocabulary; the last has nothing that WordNet knows.
TOPICS = {
    "q1": "the old captain's lantern in a grobnic storm",
    "q2": "frost on apple blossom",
    "q3": "bread recipe for a guest",
    "q4": "poem about the last lesson of a teacher",
    "q5": "zorbal quintle",
}


def documents() -> dict[str, str]:
    """Return twelve documents of each theme."""
    found = {}
    for theme, words in _THEMES.items():
        word = words.split()
        for number in range(12):
            one, two, three = (word[(number * step + shift) % 10] for step, shift in ((1, 0), (3, 2), (7, 5)))
            text = f"near the {theme} a {one} was left beside the {two}, and nobody saw the {three} before {one} time"
            found[f"{theme}-{number:02d}"] = text
    return found


def log_queries() -> list[str]:
    """Return what others asked: eighty queries, two of the topics among them."""
    pairs = [words.split() for words in _THEMES.values()]
    made = [f"{word[i % 10]} and {word[(i * 3 + 1) % 10]} {i // 10 + 1}" for i in range(16) for word in pairs]
    return [*made[:78], TOPICS["q2"], TOPICS["q5"]]


def judgments() -> list[tuple[str, str, int]]:
    """Return judgments: of two grades, with documents that are not relevant among them."""
    themes = ("harbour", "garden", "kitchen", "school", "moon")
    return [
        (qid, f"{theme}-{number:02d}", (2, 1, 1, 0)[place])
        for qid, theme in zip(TOPICS, themes, strict=True)
        for place, number in enumerate((0, 2, 5, 7))
    ]


def vocabulary() -> list[str]:
    """Return the words that have a vector."""
    words = " ".join([*documents().values(), *TOPICS.values()]).replace(",", "").replace("'s", "").split()
    return [word for word in dict.fromkeys(words) if word != "grobnic"]


def write_collection(folder: Path) -> Path:
    """Write documents, topics, judgments, log and vectors to a folder."""
    folder.mkdir(parents=True)
    write_lines(folder / "docs.tsv", (f"{docno}\t{text}" for docno, text in documents().items()))
    write_topics(folder, TOPICS)
    write_judgments(folder, judgments())
    write_lines(folder / "log.txt", log_queries())
    write_vectors(folder / "vectors.txt")
    return folder


def write_lines(path: Path, lines: Any) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_topics(folder: Path, topics: dict[str, str]) -> None:
    write_lines(folder / "topics.tsv", (f"{qid}\t{text}" for qid, text in topics.items()))


def write_judgments(folder: Path, judged: list[tuple[str, str, int]]) -> None:
    write_lines(folder / "qrels.txt", (f"{qid} 0 {docno} {grade}" for qid, docno, grade in judged))


def write_vectors(path: Path, seed: int = 1) -> None:
    words = vocabulary()
    # Neighbors about 1 apart: epsilon 5 then changes many words and leaves some.
    matrix = np.random.default_rng(seed).normal(size=(len(words), 8)).round(3)
    write_lines(path, (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, matrix, strict=True)))


class Words(Encoder):
    """The mean of random word vectors: no model, and numbers with all their digits.

    ``version`` changes the fingerprint and nothing else: what depends on an encoder depends on that.
    """

    # As many as a real encoder has: products of long vectors show whether a sum depends on what is summed beside it.
    dimension = 384

    def __init__(self, name: str, version: int = 1) -> None:
        self.name, self.fingerprint = name, f"{name}-{version}"

    def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
        rows = [np.mean([_word(word) for word in text.lower().split() or [""]], axis=0) for text in texts]
        yield np.arange(len(texts)), np.array(rows, np.float32)


@functools.cache
def _word(word: str) -> Any:
    seed = list(hashlib.sha256(word.encode()).digest())
    return np.random.default_rng(seed).standard_normal(Words.dimension)


# Who encodes: the attacker, the user's re-ranker, the dense search system, and the measure of sentence similarity.
ROLES = ("attacker", "user", "searcher", "meaning")


def no_model(patch: pytest.MonkeyPatch, home: Path, **versions: int) -> None:
    """Give every role an encoder of words that goes by its name; keep the cache in ``home``."""
    patch.setenv("QUIPUKIT_HOME", str(home))
    ENCODERS.install(patch, **{role: functools.partial(Words, role, versions.get(role, 1)) for role in ROLES})
    patch.setattr(text_similarity, "SIMILARITY", "meaning")


def choices(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return the arguments of `evaluate` for the tiny experiment."""
    usual = {
        "collection": folder,
        "specs": SPECS,
        "n": 3,
        "log": folder / "log.txt",
        "vectors": folder / "vectors.txt",
        "encoder": "attacker",
        "attackers": ("QuIA",),  # not the whole panel: most tests are not about attackers
        "systems": SYSTEMS,
        "depth": 4,
        "growth": False,  # likewise; tests/experiment/stages/test_growth.py runs it
    }
    return {**usual, **changes}


def run(folder: Path, out: Path | None = None, progress: ProgressListener | bool = True, **changes: Any) -> Result:
    """Run the tiny experiment."""
    return qk.evaluate(**choices(folder, **changes), out=out, progress=progress)


def command(folder: Path, out: Path) -> list[str]:
    """Return the same experiment as a command."""
    return [
        *("evaluate", str(folder), "-m", *SPECS, "-n", "3", "--log", str(folder / "log.txt")),
        *("--vectors", str(folder / "vectors.txt"), "--encoder", "attacker", "--depth", "4"),
        *("--attackers", "QuIA", "--no-growth"),
        *("--retriever", "bm25", "--reranker", "user", "-o", str(out)),
    ]


def result_files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of everything in a folder that makes up the result."""
    working = {"timings.json", ".lock", "experiment.json"}
    paths = [path for path in folder.rglob("*") if path.is_file() and "artifacts" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.name not in working}


def drafts(folder: Path) -> list[str]:
    """Return what a person would stumble over: files that begin with a dot, apart from the lock."""
    found = [path for path in folder.rglob(".*") if path.is_file() and path.name != ".lock"]
    return [os.fspath(path.relative_to(folder)) for path in found]
