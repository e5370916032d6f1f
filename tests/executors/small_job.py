"""A job of about a second that uses everything that executors run: obfuscation, encoding, ranking and searching."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quipukit as qk
from quipukit import obfuscation
from quipukit.attackers import bestparts, ranks
from quipukit.encoders import distributed
from quipukit.executors import Executor, Local
from quipukit.progress import Progress
from quipukit.retrieval import pool
from quipukit.storage import cache_home
from tests.executors.moody import Words

TOPICS = {
    "q1": "the captain's lantern in a grobnic storm",
    "q2": "frost on apple blossom",
    "q3": "bread recipe for a guest",
    "q4": "poem about the last lesson",
    "q5": "zorbal quintle",
}
LOG = [f"{word} and {other}" for word in " ".join(TOPICS.values()).split() for other in ("tree", "boat", "salt")]
SPECS = ("CMP@5", "CMP@10", "TEM@2")


def write_collection(folder: Path) -> Path:
    """Write documents, topics, judgments and vectors."""
    folder.mkdir(parents=True)
    documents = [f"d{number:02d}\t{LOG[number * 3]} beside {LOG[number * 2]}" for number in range(20)]
    words = list(dict.fromkeys(" ".join([*LOG, *TOPICS.values()]).replace("grobnic", "").split()))
    matrix = np.random.default_rng(1).normal(size=(len(words), 8)).round(3)
    vectors = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, matrix, strict=True)]
    content = {
        "docs.tsv": documents,
        "topics.tsv": [f"{qid}\t{text}" for qid, text in TOPICS.items()],
        "qrels.txt": [f"{qid} 0 d{number + place:02d} 1" for number, qid in enumerate(TOPICS) for place in (0, 7)],
        "vectors.txt": vectors,
    }
    for name, lines in content.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


def divide_finely(patch: pytest.MonkeyPatch) -> None:
    """Make many small parts, so that every worker has several."""
    patch.setattr(obfuscation, "_LEAST_QUERIES", 1)
    patch.setattr(distributed, "_LEAST_TEXTS", 4)
    patch.setattr(pool, "_LEAST_TEXTS", 2)
    patch.setattr(ranks, "FEWEST_TO_SEND", 1)
    patch.setattr(bestparts, "FEWEST_TO_SEND", 1)
    patch.setattr(ranks, "_SLAB", 16)


def forget_encodings() -> None:
    """Let nothing be found encoded."""
    shutil.rmtree(cache_home() / "encodings" / Words.fingerprint, ignore_errors=True)


def run(
    folder: Path,
    executor: Executor | None = None,
    stages: Callable[[str], Progress] = lambda stage: lambda done, total: None,
    **changes: Any,
) -> str:
    """Do the job, and return a digest over every byte of its tables and of some vectors."""
    forget_encodings()
    queries = pd.DataFrame({"qid": list(TOPICS), "query": list(TOPICS.values())})
    chosen: dict[str, Any] = {"specs": SPECS, "vectors": qk.load_vectors(folder / "vectors.txt"), "seed": 7, **changes}
    sent = qk.obfuscate(queries, n=3, executor=executor, **chosen)
    ranks = qk.attack(sent, queries, LOG, encoder=Words(), attackers=["QuIA"], stages=stages, executor=executor)
    found = qk.retrieve(sent, qk.load_collection(folder), depth=4, executor=executor)
    tables = "".join(table.to_csv() for table in (sent, qk.notes(sent), ranks, found))
    vectors = distributed.distributed(Words(), executor or Local()).encode(LOG)
    return hashlib.sha256(tables.encode() + vectors.tobytes()).hexdigest()


class Once:
    """Calls something once, when a stage first reports progress."""

    def __init__(self, stage: str, call: Callable[[], Any]) -> None:
        self._stage, self._call = stage, call
        self.called: list[float] = []

    def __call__(self, stage: str) -> Progress:
        def show(done: float, total: float) -> None:
            if stage == self._stage and not self.called:
                self.called.append(done / total)
                self._call()

        return show
