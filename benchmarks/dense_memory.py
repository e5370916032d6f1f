"""How much memory does dense retrieval take with a million documents of 384 coordinates?

A child process fills the memory-mapped store with random vectors through the same calls as real ones, closes it,
opens it again and searches. Peak memory is the process's largest resident set; it contains the pages of the mapped
file, which the system could take back at any time.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.data import CACHE, ROOT, Skipped, memory
from benchmarks.table import Line, Target, show

QUESTION = "what do a million documents x 384 take in memory?"
GIGABYTES = Target(3.0, at_most=True)
DIMENSION, DEPTH = 384, 100


def run(quick: bool) -> list[Line]:
    """Run the job in a fresh process, so that the peak is its own."""
    documents, queries = (50_000, 100) if quick else (1_000_000, 1_000)
    place = CACHE / "dense-memory"
    shutil.rmtree(place, ignore_errors=True)
    if shutil.disk_usage(ROOT).free < 3 * documents * DIMENSION * 4:
        raise Skipped(f"{documents:,} vectors need more room on the disk")
    told: dict[str, Any] = {}
    try:
        for step in ("fill", "search"):
            command = [sys.executable, "-m", "benchmarks.dense_memory", step, str(documents), str(queries), str(place)]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                raise Skipped("the job's process failed; its message is above")
            told[step] = json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    lines = [
        Line("fill: time (s)", (), told["fill"]["seconds"]),
        Line("fill: peak memory (GB)", (), told["fill"]["peak"] / 1e9, GIGABYTES),
        Line("open again: time (s)", (), told["search"]["opened"]),
        Line(f"search {queries:,} queries to depth {DEPTH}: time (s)", (), told["search"]["seconds"]),
        Line("open and search: peak memory (GB)", (), told["search"]["peak"] / 1e9, GIGABYTES),
        Line("open and search: mapped files in it (GB)", (), told["search"]["mapped"] / 1e9),
    ]
    print(f"{documents:,} documents x {DIMENSION}")
    show(("what", "value"), lines)
    return lines


def job(step: str, size: int, asked: int, place: str) -> dict[str, float]:
    """Fill the store, or open and search it."""
    from pathlib import Path

    import numpy as np
    import pandas as pd

    from quipukit.collections.base import Collection, Document
    from quipukit.encoders.base import Encoder, Kind, Piece
    from quipukit.encoders.store import EncodingStore
    from quipukit.retrieval.dense import Dense

    class Noise(Encoder):
        name, dimension, fingerprint = "noise", DIMENSION, "noise"

        def pieces(self, texts: Sequence[str], kind: Kind) -> Iterator[Piece]:
            rng = np.random.default_rng(list(texts[0].encode()))
            for start in range(0, len(texts), 32):
                count = min(32, len(texts) - start)
                yield np.arange(start, start + count), rng.standard_normal((count, DIMENSION), np.float32)

    class Numbers(Collection):
        name, fingerprint = "numbers", f"numbers-{size}"

        def documents(self) -> Iterator[Document]:
            return ((f"d{number:08d}", f"document {number}") for number in range(size))

        def __len__(self) -> int:
            return size

        def queries(self) -> pd.DataFrame:
            return pd.DataFrame({"qid": [], "query": []})

        qrels = queries

    start = time.perf_counter()
    retriever = Dense(Numbers(), store=EncodingStore(Noise(), Path(place)))
    retriever.prepare()
    opened = time.perf_counter()
    if step == "search":
        found = retriever.search([f"query {number}" for number in range(asked)], DEPTH)
        if any(len(ranking.docnos) != DEPTH for ranking in found):
            raise RuntimeError("a ranking is too short")
    return {
        "opened": opened - start,
        "seconds": time.perf_counter() - (opened if step == "search" else start),
        **memory(),
    }


if __name__ == "__main__":
    print(json.dumps(job(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
